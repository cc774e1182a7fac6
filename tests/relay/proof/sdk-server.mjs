// A server of sessions on the official SDK.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

/**
 * `{ url, sessions, close() }`, on this machine: each session has a server of `newServer()` and a transport with these
 * options. A request whose headers `refuses` is answered by 403.
 */
export async function serveSessions({ newServer, transport: options, refuses = () => false }) {
  const sessions = new Map();
  const newSession = async () => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      ...options?.(),
      onsessioninitialized: (id) => sessions.set(id, transport),
      onsessionclosed: (id) => sessions.delete(id),
    });
    await newServer().connect(transport);
    return transport;
  };
  const server = createServer(async (request, response) => {
    const { headers, method } = request;
    if (refuses(headers)) return response.writeHead(403).end();
    const body = method === "POST" ? await json(request) : undefined;
    const known = sessions.get(headers["mcp-session-id"]);
    const transport = known ?? (body?.method === "initialize" ? await newSession() : undefined);
    if (transport) return transport.handleRequest(request, response, body);
    return response.writeHead(404).end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/mcp`,
    sessions,
    close: () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  };
}
