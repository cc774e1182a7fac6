// The entries `landfall` and `landfall/url` in workerd.

import type { TransportOptions } from "../api/options.js";
import type { Connect } from "../api/session.js";
import { noSdk } from "../sdk/sdk.js";
import { ClientTransport } from "../sdk/transport.js";
import { connector } from "./connect.js";
import { instances } from "./imported.js";

export * from "./exports.js";

/** Opens a session with an MCP server: see {@link Connect}. */
export const connect: Connect = connector(instances);

/** A `Transport` for the Clients of the SDKs and of @ai-sdk/mcp: see {@link ClientTransport}. */
export class LandfallTransport extends ClientTransport {
  /** Nothing is loaded or sent before `start()`. Throws {@link ConfigError} for options that can't be honoured. */
  constructor(url: string | URL, options?: TransportOptions) {
    super({ instances, sdk: noSdk }, url, options);
  }
}
