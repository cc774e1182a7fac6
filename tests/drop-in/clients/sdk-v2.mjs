// The official client, version 2, in each of its ways to find out what the server speaks.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { sdkV2 as rival } from "../../matrix/clients/sdk-v2.mjs";
import { CLIENT_MS } from "./options.mjs";

/** `mode` as in the option `versionNegotiation` of the client. */
function sdkV2(mode, era, more = "") {
  return {
    name: `${rival.name}${more}`,
    era,
    entry: "./v2",
    hasTimer: true,
    explain: rival.explain,
    official: (url, options) => new StreamableHTTPClientTransport(url, options),

    async open(transport, options = {}) {
      const {
        capabilities = {},
        answers = {},
        onerror = () => {},
        onclose = () => {},
        listChanged,
        connectMs = CLIENT_MS,
      } = options;
      const client = new Client(
        { name: "drop-in", version: "1.0.0" },
        { capabilities, versionNegotiation: { mode }, ...(listChanged && { listChanged }) },
      );
      Object.assign(client, { onerror, onclose });
      for (const [method, answer] of Object.entries(answers)) client.setRequestHandler(method, answer);
      await client.connect(transport, { timeout: connectMs });
      return {
        client,
        list: () => client.listTools(),
        call: (name, args, more = {}) =>
          client.callTool({ name, arguments: args }, { timeout: CLIENT_MS, ...more }),
        close: () => client.close(),
      };
    },
  };
}

export const sdkV2Legacy = sdkV2("legacy", "legacy");
export const sdkV2Auto = sdkV2("auto", "legacy", ", auto");
export const sdkV2Modern = sdkV2({ pin: "2026-07-28" }, "modern", ", modern");
