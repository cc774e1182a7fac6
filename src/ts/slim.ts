// The entry `landfall/slim`: bring your own module, as from `landfall/landfall.wasm`.
import { compile, type ModuleSource } from "./compile.js";
import { connector } from "./connect.js";
import { createCore } from "./core.js";
import { ConfigError } from "./errors.js";
import { observed } from "./promise.js";
import type { Connect } from "./types.js";

export type { ModuleSource } from "./compile.js";
export * from "./exports.js";

let given: Promise<WebAssembly.Module> | undefined;

/**
 * Gives the module, before the first `connect`: compiled, as bytes, as a Response that brings it, as a URL to fetch, or
 * a promise of one of these. Resolves when it is compiled and rejects where that fails; `connect` waits for it. After
 * the first session the module stays; after a failure another may be given.
 */
export function initializeWasm(source: ModuleSource | Promise<ModuleSource>): Promise<void> {
  const compiled = observed(Promise.resolve(source).then(checked).then(compile));
  given = compiled;
  return observed(compiled.then(() => {}));
}

function checked(source: ModuleSource): ModuleSource {
  if (typeof source === "object" && source !== null) return source;
  throw new ConfigError("module", "module must be a WebAssembly.Module, bytes, a Response or a URL");
}

function load(): Promise<WebAssembly.Module> {
  if (given !== undefined) return given;
  throw new ConfigError(
    "module",
    "landfall/slim has no module yet: call initializeWasm(module) before connect()",
  );
}

/** Opens a session with an MCP server, after {@link initializeWasm}: see {@link Connect}. */
export const connect: Connect = connector(load, createCore);
