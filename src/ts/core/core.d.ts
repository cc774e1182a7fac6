// Made by the build from the output of wasm-bindgen: its glue, wrapped in a factory.
import type { RawCore } from "./protocol.js";

export declare function createCore(
  module: WebAssembly.Module,
  clock?: {
    setTimeout(run: () => void, ms: number): unknown;
    clearTimeout(timer: never): void;
  },
): RawCore;
