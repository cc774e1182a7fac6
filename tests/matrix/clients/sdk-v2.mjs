// The official client, version 2, which begins with `initialize` unless told otherwise.
import {
  Client,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { installed } from "./installed.mjs";

/** Its default is 60 s. */
const TIMEOUT_MS = 7_000;

export const sdkV2 = {
  name: `@modelcontextprotocol/client ${await installed("@modelcontextprotocol/client")}`,
  observeMs: 9_000,

  async open(url) {
    const client = new Client({ name: "matrix", version: "1.0.0" });
    await client.connect(new StreamableHTTPClientTransport(url));
    return {
      call: (name, args) => client.callTool({ name, arguments: args }, { timeout: TIMEOUT_MS }),
      close: () => client.close(),
    };
  },

  explain(error) {
    if (error instanceof SdkHttpError) return { outcome: "failed", reason: `HTTP ${error.status}` };
    if (error instanceof ProtocolError) return { outcome: "error", reason: String(error.code) };
    if (!(error instanceof SdkError)) return { outcome: "failed", reason: error.name };
    const timedOut = error.code === SdkErrorCode.RequestTimeout;
    return { outcome: timedOut ? "timeout" : "failed", reason: error.code };
  },
};
