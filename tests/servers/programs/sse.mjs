// How a server of 2024-11-05 is wired: a GET opens a session's stream, and POSTs go where its first event says.
import { createServer } from "node:http";
import { json } from "node:stream/consumers";

const STREAM = "/sse";
const MESSAGES = "/messages";

export function serveSse(Transport, newServer, port) {
  const sessions = new Map();
  createServer(async (request, response) => {
    const url = new URL(request.url, "http://localhost");
    if (request.method === "GET" && url.pathname === STREAM) {
      const transport = new Transport(MESSAGES, response);
      sessions.set(transport.sessionId, transport);
      response.once("close", () => sessions.delete(transport.sessionId));
      return newServer().connect(transport);
    }
    if (request.method === "POST" && url.pathname === MESSAGES) {
      const transport = sessions.get(url.searchParams.get("sessionId"));
      if (transport) return transport.handlePostMessage(request, response, await json(request));
      return response.writeHead(404).end("No session");
    }
    // As express does: a path that is known, by a method that is not, is unknown.
    response.writeHead(404, { "content-type": "text/html" }).end(`Cannot ${request.method} ${url.pathname}`);
  }).listen(port);
}
