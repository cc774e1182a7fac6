// The TypeScript SDK 1, as its own example has it: sessions, and the example's event store. PORT
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { InMemoryEventStore } from "@modelcontextprotocol/sdk/examples/shared/inMemoryEventStore.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { newServer } from "./server-v1.mjs";

const sessions = new Map();

async function newSession() {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    eventStore: new InMemoryEventStore(),
    onsessioninitialized: (id) => sessions.set(id, transport),
    onsessionclosed: (id) => sessions.delete(id),
  });
  await newServer().connect(transport);
  return transport;
}

createServer(async (request, response) => {
  const body = request.method === "POST" ? await json(request) : undefined;
  const known = sessions.get(request.headers["mcp-session-id"]);
  const transport = known ?? (body?.method === "initialize" ? await newSession() : undefined);
  if (transport) return transport.handleRequest(request, response, body);
  const error = { code: -32000, message: "Bad Request: No valid session ID provided" };
  response.writeHead(400, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", error, id: null }));
}).listen(Number(process.argv[2]));
