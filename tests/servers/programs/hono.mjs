// @hono/mcp with sessions and the SDK's example event store. PORT
import { randomUUID } from "node:crypto";
import { StreamableHTTPTransport } from "@hono/mcp";
import { serve } from "@hono/node-server";
import { InMemoryEventStore } from "@modelcontextprotocol/sdk/examples/shared/inMemoryEventStore.js";
import { Hono } from "hono";
import { newServer } from "./server-v1.mjs";

const sessions = new Map();

async function newSession() {
  const transport = new StreamableHTTPTransport({
    sessionIdGenerator: randomUUID,
    eventStore: new InMemoryEventStore(),
    onsessioninitialized: (id) => sessions.set(id, transport),
    onsessionclosed: (id) => sessions.delete(id),
  });
  await newServer().connect(transport);
  return transport;
}

const app = new Hono();
app.all("/mcp", async (context) => {
  const id = context.req.header("mcp-session-id");
  if (id !== undefined && !sessions.has(id)) return context.text("Session not found", 404);
  return (sessions.get(id) ?? (await newSession())).handleRequest(context);
});
serve({ fetch: app.fetch, port: Number(process.argv[2]) });
