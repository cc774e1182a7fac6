// The relay as a server of Node's.
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { realClock } from "../relay/clock.mjs";
import { Register } from "../relay/register.mjs";
import { Relay } from "../relay/relay.mjs";
import { MemoryStore } from "../store/memory.mjs";
import { Sessions, sqlite } from "./sessions.mjs";

const LOCAL = "127.0.0.1";

/**
 * Serves a relay on this machine: `{ url, close() }`. `landfall` is the package; `folder` is where sessions are kept, else
 * they are in memory.
 */
export async function serve({ settings, landfall, access, folder, port = 0, clock = realClock }) {
  const register = new Register({ settings, clock, store: new MemoryStore() });
  const sessions = new Sessions({
    settings,
    landfall,
    register,
    clock,
    folder,
    sqlite: folder && (await sqlite()),
  });
  const relay = new Relay({ settings, register, access, sessions: (id) => sessions.get(id) });
  const server = createServer((incoming, outgoing) => {
    answer(relay, incoming, outgoing).catch((thrown) => {
      console.error(thrown);
      if (outgoing.headersSent) outgoing.destroy();
      else outgoing.writeHead(500).end();
    });
  });
  // A stream lives as long as its call.
  Object.assign(server, { requestTimeout: 0, keepAliveTimeout: 60_000 });
  await new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, LOCAL, resolve);
  });
  return {
    url: `http://${LOCAL}:${server.address().port}/mcp`,
    sessions,
    register,
    async close() {
      await new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      });
      await sessions.close();
    },
  };
}

async function answer(relay, incoming, outgoing) {
  const response = await relay.fetch(requestOf(incoming));
  // What is refused unread would stand in the way of the next request on its connection.
  if (!incoming.complete) outgoing.setHeader("connection", "close");
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.flushHeaders();
  if (response.body === null) outgoing.end();
  else await send(response.body, outgoing);
}

function requestOf(incoming) {
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headers)) headers.set(name, String(value));
  const { method } = incoming;
  const body = method === "POST" ? { body: Readable.toWeb(incoming), duplex: "half" } : {};
  return new Request(`http://${incoming.headers.host ?? LOCAL}${incoming.url}`, { method, headers, ...body });
}

/** Writes a body as fast as it is taken; whoever has gone cancels it. */
async function send(body, outgoing) {
  const reader = body.getReader();
  const leave = () => reader.cancel().catch(() => {});
  outgoing.once("close", leave);
  // It may have gone before there was an answer.
  if (outgoing.destroyed) return leave();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    if (!outgoing.write(value)) await drained(outgoing);
    if (outgoing.destroyed) return;
  }
  outgoing.end();
}

function drained(outgoing) {
  if (outgoing.destroyed) return undefined;
  return new Promise((resolve) => {
    const done = () => {
      outgoing.off("drain", done);
      outgoing.off("close", done);
      resolve();
    };
    outgoing.on("drain", done);
    outgoing.on("close", done);
  });
}
