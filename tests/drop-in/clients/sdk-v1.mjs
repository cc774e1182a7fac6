// The official client, version 1.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { sdkV1 as rival } from "../../matrix/clients/sdk-v1.mjs";
import { CLIENT_MS } from "./options.mjs";

const REQUESTS = {
  "sampling/createMessage": CreateMessageRequestSchema,
  "elicitation/create": ElicitRequestSchema,
  "roots/list": ListRootsRequestSchema,
};

export const sdkV1 = {
  name: rival.name,
  era: "legacy",
  entry: "./v1",
  hasTimer: true,
  explain: rival.explain,
  official: (url, options) => new StreamableHTTPClientTransport(url, options),

  async open(transport, { capabilities = {}, answers = {}, onerror = () => {}, onclose = () => {} } = {}) {
    const client = new Client({ name: "drop-in", version: "1.0.0" }, { capabilities });
    Object.assign(client, { onerror, onclose });
    for (const [method, answer] of Object.entries(answers)) {
      client.setRequestHandler(REQUESTS[method], answer);
    }
    await client.connect(transport);
    return {
      client,
      list: () => client.listTools(),
      call: (name, args, options = {}) =>
        client.callTool({ name, arguments: args }, undefined, { timeout: CLIENT_MS, ...options }),
      close: () => client.close(),
    };
  },
};
