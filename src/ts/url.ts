// The entry `landfall/url`: the module as a file beside the JavaScript, compiled while it streams in.
import { compile } from "./compile.js";
import { connector } from "./connect.js";
import { createCore } from "./core.js";
import { Instances } from "./instance.js";
import type { TransportOptions } from "./options.js";
import { noSdk } from "./sdk.js";
import { ClientTransport } from "./transport.js";
import type { Connect } from "./types.js";

export * from "./exports.js";

const load = () => compile(new URL("./landfall.wasm", import.meta.url));
const instances = new Instances(load, createCore);

/** Opens a session with an MCP server: see {@link Connect}. */
export const connect: Connect = connector(instances);

/** A `Transport` for the Clients of the SDKs and of @ai-sdk/mcp: see {@link ClientTransport}. */
export class LandfallTransport extends ClientTransport {
  /** Nothing is loaded or sent before `start()`. Throws {@link ConfigError} for options that can't be honoured. */
  constructor(url: string | URL, options?: TransportOptions) {
    super({ instances, sdk: noSdk }, url, options);
  }
}
