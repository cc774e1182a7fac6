// What a page needs to make a call by the official client, version 2: bundled, as a page has it.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

export async function open(url) {
  const client = new Client({ name: "bench", version: "1.0.0" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return client;
}

export const call = (client) => client.callTool({ name: "bench", arguments: {} });
