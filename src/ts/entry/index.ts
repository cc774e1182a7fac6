// The entry `landfall`.

import type { TransportOptions } from "../api/options.js";
import type { Connect } from "../api/session.js";
import { noSdk } from "../sdk/binding.js";
import { ClientTransport } from "../sdk/transport.js";
import { connector } from "../session/stand-alone.js";
import { instances } from "./inline.js";

export * from "./exports.js";

// A call at module scope would keep all of it in the bundle of whoever imports something else.
/**
 * Opens a session with an MCP server.
 *
 * Rejects with {@link ToolCallFailedError} (method `initialize`) where the server can't be reached or refuses, and with
 * {@link ConfigError} for options that contradict each other or are not known.
 */
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
