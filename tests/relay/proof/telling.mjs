// A server that keeps no events, and whose one tool tells so many things, evenly, and counts its runs. Of the official SDK.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

/** `{ url, runs, sessions, close() }`; `runs` by key. `tell {key, steps, everyMs}` tells `{key, step, at}` each time. */
export async function startTelling() {
  const runs = new Map();
  const sessions = new Map();
  const newSession = async () => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => sessions.set(id, transport),
      onsessionclosed: (id) => sessions.delete(id),
    });
    await newServer(runs).connect(transport);
    return transport;
  };
  const server = createServer(async (request, response) => {
    const { headers, method } = request;
    const body = method === "POST" ? await json(request) : undefined;
    const known = sessions.get(headers["mcp-session-id"]);
    const transport = known ?? (body?.method === "initialize" ? await newSession() : undefined);
    if (transport) return transport.handleRequest(request, response, body);
    return response.writeHead(404).end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    ...{ runs, sessions, url: `http://127.0.0.1:${server.address().port}/mcp` },
    close: () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  };
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
