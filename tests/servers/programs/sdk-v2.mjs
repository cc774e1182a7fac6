// The TypeScript SDK 2: sessions and an event store for 2025-11-25, and 2026-07-28 on the same address. PORT
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from "@modelcontextprotocol/node";
import { createMcpHandler, isLegacyRequest, McpServer } from "@modelcontextprotocol/server";
import { InMemoryEventStore } from "../../migration/event-store.mjs";
import { addTools } from "./tools.mjs";

const sessions = new Map();
const newServer = () =>
  addTools(new McpServer({ name: "servers", version: "1.0.0" }, { capabilities: { logging: {} } }));
const modern = toNodeHandler(createMcpHandler(newServer, { legacy: "reject" }));

async function newSession() {
  const transport = new NodeStreamableHTTPServerTransport({
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
  if (!(await isLegacyRequest(await toWebRequest(request, body)))) return modern(request, response, body);
  const id = request.headers["mcp-session-id"];
  const transport = sessions.get(id) ?? (body?.method === "initialize" ? await newSession() : undefined);
  if (transport) return transport.handleRequest(request, response, body);
  response.writeHead(id ? 404 : 400).end();
}).listen(Number(process.argv[2]));
