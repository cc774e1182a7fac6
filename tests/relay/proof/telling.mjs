// A server that keeps no events, and whose one tool tells so many things, evenly, and counts its runs. Of the official SDK.
import { setTimeout as sleep } from "node:timers/promises";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { serveSessions } from "./sdk-server.mjs";

/** `{ url, runs, sessions, close() }`; `runs` by key. `tell {key, steps, everyMs}` tells `{key, step, at}` each time. */
export async function startTelling() {
  const runs = new Map();
  return { runs, ...(await serveSessions({ newServer: () => newServer(runs) })) };
}

function newServer(runs) {
  const server = new Server({ name: "telling", version: "1" }, { capabilities: { tools: {}, logging: {} } });
  const tools = [{ name: "tell", description: "Tells so many things", inputSchema: { type: "object" } }];
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { sendNotification }) => {
    const { key, steps, everyMs } = params.arguments;
    runs.set(key, (runs.get(key) ?? 0) + 1);
    for (let step = 1; step <= steps; step += 1) {
      if (everyMs > 0) await sleep(everyMs);
      const data = { key, step, at: performance.now() };
      await sendNotification({ method: "notifications/message", params: { level: "info", data } });
    }
    return { content: [{ type: "text", text: `${key} told ${steps}` }] };
  });
  return server;
}
