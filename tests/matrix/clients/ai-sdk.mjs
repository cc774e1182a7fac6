// The AI SDK's client; its version 1 is the one for Node 20. It has no timeout unless the caller brings one.
import { createMCPClient } from "@ai-sdk/mcp";
import { installed } from "./installed.mjs";

export const aiSdk = {
  name: `@ai-sdk/mcp ${await installed("@ai-sdk/mcp")}`,
  observeMs: 9_000,

  async open(url) {
    const client = await createMCPClient({
      transport: { type: "http", url: url.href },
      onUncaughtError() {},
    });
    const tools = await client.tools();
    return {
      call: (name, args) => tools[name].execute(args, { toolCallId: "matrix", messages: [] }),
      close: () => client.close(),
    };
  },

  explain(error) {
    if (error.statusCode !== undefined) return { outcome: "failed", reason: `HTTP ${error.statusCode}` };
    if (typeof error.code === "number") return { outcome: "error", reason: String(error.code) };
    return { outcome: "failed", reason: error.name };
  },
};
