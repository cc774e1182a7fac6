// The entry `landfall/v2`: the transport with the OAuth flow and the error classes of @modelcontextprotocol/client.
import type { OAuthClientProvider } from "@modelcontextprotocol/client";
import type { AuthProvider, TransportOptions } from "../api/options.js";
import { ClientTransport } from "../sdk/transport.js";
import { sdkV2 } from "../sdk/v2.js";
import { instances } from "./inline.js";

export * from "./exports.js";

/** Options of this entry's {@link LandfallTransport}: its provider may be the SDK's. */
export interface OAuthTransportOptions extends Omit<TransportOptions, "authProvider"> {
  /** Gives each request its bearer token; an OAuthClientProvider is driven by the SDK's own `auth`. */
  authProvider?: AuthProvider | OAuthClientProvider;
}

/** A `Transport` for a Client of `@modelcontextprotocol/client`: see {@link ClientTransport}. */
export class LandfallTransport extends ClientTransport {
  /** @internal */
  static override readonly name = "LandfallTransport";

  /** Nothing is loaded or sent before `start()`. Throws {@link ConfigError} for options that can't be honoured. */
  constructor(url: string | URL, options?: OAuthTransportOptions) {
    super({ instances, sdk: sdkV2 }, url, options as TransportOptions);
  }
}
