// Made by the build from the output of wasm-bindgen: its glue, wrapped in a factory.
import type { CreateCore } from "./protocol.js";

export declare const createCore: CreateCore;
