// Compiles only while a LandfallTransport is what each SDK takes as a transport, with the options of each SDK's own.
import type { experimental_createMCPClient as createClient1, MCPTransport as Transport1 } from "@ai-sdk/mcp";
import type {
  AuthProvider,
  StreamableHTTPClientTransportOptions as OptionsV2,
  OAuthClientProvider as Provider2,
  Transport as TransportV2,
} from "@modelcontextprotocol/client";
import { Client as ClientV2 } from "@modelcontextprotocol/client";
import type { OAuthClientProvider as Provider1 } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import type { StreamableHTTPClientTransportOptions as OptionsV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport as TransportV1 } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { MCPTransport as Transport2 } from "ai-mcp-2";
import { LandfallTransport, sdkRequestOptions } from "../../../target/npm/entry/index.js";
import { LandfallTransport as OfSlim } from "../../../target/npm/entry/slim.js";
import { LandfallTransport as OfUrl } from "../../../target/npm/entry/url.js";
import { LandfallTransport as OfV1 } from "../../../target/npm/entry/v1.js";
import { LandfallTransport as OfV2 } from "../../../target/npm/entry/v2.js";

declare const optionsV1: OptionsV1;
declare const optionsV2: OptionsV2;
declare const small: AuthProvider;
declare const provider1: Provider1;
declare const provider2: Provider2;
declare const createClient: typeof createClient1;

const url = new URL("https://server.test/mcp");
const transport = new LandfallTransport(url);
const v1 = new OfV1(url, { authProvider: provider1 });
const v2 = new OfV2(url, { authProvider: provider2 });

export const all: { v1: TransportV1; v2: TransportV2; ai1: Transport1; ai2: Transport2 }[] = [
  { v1: transport, v2: transport, ai1: transport, ai2: transport },
  { v1, v2: v1, ai1: v1, ai2: v1 },
  { v1: v2, v2, ai1: v2, ai2: v2 },
];

/** A swap hands on the options that it has. */
export const swapped = [
  new OfV1(url, optionsV1),
  new OfV2(url, optionsV2),
  new OfV2(url, { authProvider: small }),
];
export const others = [new OfSlim("https://server.test/mcp"), new OfUrl(url, { authProvider: small })];

export async function use(): Promise<void> {
  const old = new ClientV1({ name: "c", version: "1" });
  await old.connect(transport);
  await old.callTool({ name: "work" }, undefined, sdkRequestOptions());
  const client = new ClientV2({ name: "c", version: "1" });
  await client.connect(transport);
  await client.callTool({ name: "work" }, sdkRequestOptions({ callMs: 5_000 }));
  await createClient({ transport });
}
