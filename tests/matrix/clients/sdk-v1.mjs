// The official client, version 1.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import {
  StreamableHTTPClientTransport,
  StreamableHTTPError,
} from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ErrorCode, McpError } from "@modelcontextprotocol/sdk/types.js";
import { installed } from "./installed.mjs";

/** Its default is 60 s. */
const TIMEOUT_MS = 7_000;

export const sdkV1 = {
  name: `@modelcontextprotocol/sdk ${await installed("@modelcontextprotocol/sdk")}`,
  observeMs: 9_000,

  async open(url) {
    const client = new Client({ name: "matrix", version: "1.0.0" });
    await client.connect(new StreamableHTTPClientTransport(url));
    return {
      call: (name, args) => client.callTool({ name, arguments: args }, undefined, { timeout: TIMEOUT_MS }),
      close: () => client.close(),
    };
  },

  explain(error) {
    if (error instanceof StreamableHTTPError) return { outcome: "failed", reason: `HTTP ${error.code}` };
    if (!(error instanceof McpError)) return { outcome: "failed", reason: error.name };
    if (error.code === ErrorCode.RequestTimeout) return { outcome: "timeout", reason: "RequestTimeout" };
    return { outcome: "error", reason: String(error.code) };
  },
};
