// The entry `landfall/slim`: bring your own module, as from `landfall/landfall.wasm`.

import { ConfigError } from "../api/errors.js";
import type { ModuleSource, TransportOptions } from "../api/options.js";
import type { Connect } from "../api/session.js";
import { observed } from "../base/promise.js";
import { compile } from "../core/compile.js";
import { createCore } from "../core/decoder.js";
import { Instances } from "../core/instance.js";
import { noSdk } from "../sdk/binding.js";
import { ClientTransport } from "../sdk/transport.js";
import { connector } from "../session/stand-alone.js";

export type { ModuleSource, WasmModule } from "../api/options.js";
export * from "./exports.js";

let given: Promise<WebAssembly.Module> | undefined;

/**
 * Gives the module, before the first `connect` or `start()`: compiled, as bytes, as a Response that brings it, as a URL to fetch, or
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

const instances = new Instances(load, createCore);

// A call at module scope would keep all of it in the bundle of whoever imports something else.
/** Opens a session with an MCP server, after {@link initializeWasm}: see {@link Connect}. */
export const connect: Connect = (url, options) => connector(instances)(url, options);

/** A `Transport` for the Clients of the SDKs, to be started after {@link initializeWasm}: see {@link ClientTransport}. */
export class LandfallTransport extends ClientTransport {
  /** @internal */
  static override readonly name = "LandfallTransport";

  /** Nothing is loaded or sent before `start()`. Throws {@link ConfigError} for options that can't be honoured. */
  constructor(url: string | URL, options?: TransportOptions) {
    super({ instances, sdk: noSdk }, url, options);
  }
}
