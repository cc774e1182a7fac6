// The entry `landfall/url` in Node, whose fetch reads no files. The only file that imports a module of Node's.
import { readFile } from "node:fs/promises";
import type { TransportOptions } from "../api/options.js";
import type { Connect } from "../api/session.js";
import { compile } from "../core/compile.js";
import { createCore } from "../core/decoder.js";
import { Instances } from "../core/instance.js";
import { noSdk } from "../sdk/binding.js";
import { ClientTransport } from "../sdk/transport.js";
import { connector } from "../session/stand-alone.js";

export * from "./exports.js";

const load = async () => compile(await readFile(new URL("./landfall.wasm", import.meta.url)));
const instances = new Instances(load, createCore);

// A call at module scope would keep all of it in the bundle of whoever imports something else.
/** Opens a session with an MCP server: see {@link Connect}. */
export const connect: Connect = (url, options) => connector(instances)(url, options);

/** A `Transport` for the Clients of the SDKs and of `@ai-sdk/mcp`: see {@link ClientTransport}. */
export class LandfallTransport extends ClientTransport {
  /** @internal */
  static override readonly name = "LandfallTransport";

  /** Nothing is loaded or sent before `start()`. Throws {@link ConfigError} for options that can't be honoured. */
  constructor(url: string | URL, options?: TransportOptions) {
    super({ instances, sdk: noSdk }, url, options);
  }
}
