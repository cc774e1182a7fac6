// The server of the benchmarks, in a process of its own so that what it costs is not counted: a legacy MCP session
// over Streamable HTTP whose one tool says by its arguments how the answer comes.
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";
import { eventOf, frameOf, framesOf, responseOf, streamOf } from "./wire.mjs";

const JSON_TYPE = { "content-type": "application/json" };
const SSE_TYPE = { "content-type": "text/event-stream", "cache-control": "no-cache" };

const pause = new Int32Array(new SharedArrayBuffer(4));
let streams = 0;
/** The open calls of each set, in the order in which they came. */
const held = new Map();

async function read(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return chunks.length === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString());
}

function results(request) {
  const { method, params } = request;
  if (method === "initialize") {
    const { protocolVersion } = params;
    return { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "bench", version: "1.0.0" } };
  }
  if (method === "tools/list") return { tools: [{ name: "bench", inputSchema: { type: "object" } }] };
  return { content: [{ type: "text", text: "done" }] };
}

function answer(request, response) {
  const session = request.method === "initialize" ? { "mcp-session-id": "bench" } : {};
  response.writeHead(200, { ...JSON_TYPE, ...session });
  response.end(JSON.stringify({ jsonrpc: "2.0", id: request.id, result: results(request) }));
}

/**
 * All events of a call: HTTP chunks of `read` bytes, or with `paceMs` packets of so many, for what comes at once is
 * read at once.
 */
function stream(request, response) {
  streams += 1;
  const { read, paceMs = 0, ...events } = request.params.arguments;
  const body = streamOf({ ...events, key: streams, request });
  const socket = open(response);
  const frames = framesOf(body, read);
  if (paceMs === 0) socket.write(Buffer.concat([...frames]));
  else for (const frame of frames) send(socket, frame, paceMs);
  response.end();
}

/** The head of a stream, and its socket: by the response what is written would be merged. */
function open(response) {
  response.writeHead(200, SSE_TYPE);
  response.flushHeaders();
  response.socket.setNoDelay(true);
  return response.socket;
}

/** One packet, and a wait in which nothing of this process runs: a timer would be too coarse. */
function send(socket, bytes, paceMs) {
  socket.write(bytes);
  if (paceMs > 0) Atomics.wait(pause, 0, 0, paceMs);
}

function hold(request, response) {
  const { set } = request.params.arguments;
  streams += 1;
  open(response);
  if (!held.has(set)) held.set(set, []);
  held.get(set).push({ request, response, key: streams, sent: 0 });
}

/** Events to the open calls of a set in turn, each in a packet of its own. */
function emit({ set, events, size, paceMs }) {
  const calls = held.get(set) ?? [];
  for (let n = 0; n < events; n += 1) {
    const call = calls[n % calls.length];
    call.sent += 1;
    send(call.response.socket, frameOf(Buffer.from(eventOf({ ...call, n: call.sent, size }))), paceMs);
  }
  return { calls: calls.length };
}

function release({ set }) {
  const calls = held.get(set) ?? [];
  held.delete(set);
  for (const { request, response, key } of calls) response.end(responseOf({ request, key }));
  return { calls: calls.length };
}

const CONTROLS = { "/emit": emit, "/release": release };

function serve(message, response) {
  if (message?.id === undefined) return response.writeHead(202).end();
  const how = message.method === "tools/call" ? message.params.arguments : {};
  if (how?.set !== undefined) return hold(message, response);
  if (how?.events !== undefined) return stream(message, response);
  return answer(message, response);
}

/** Listens on 127.0.0.1; `pages` answers GETs that are no MCP, and more `controls` POSTs by their path. */
export async function listen({ pages, controls } = {}) {
  const all = { ...CONTROLS, ...controls };
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, "http://bench");
    if (request.method === "GET" && pages?.(pathname, response)) return;
    if (request.method !== "POST") {
      response.writeHead(request.method === "DELETE" ? 200 : 405).end();
      return;
    }
    const message = await read(request);
    const control = all[pathname];
    if (control === undefined) return serve(message, response);
    response.writeHead(200, JSON_TYPE).end(JSON.stringify(control(message)));
  });
  // A connection that ended in the midst of a round would be paid by whoever opens the next.
  server.keepAliveTimeout = 600_000;
  await new Promise((resolve) => server.listen({ port: 0, host: "127.0.0.1", backlog: 2_048 }, resolve));
  return { url: `http://127.0.0.1:${server.address().port}/mcp`, close: () => server.close() };
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { url } = await listen();
  console.log(JSON.stringify({ url }));
  process.stdin.once("end", () => process.exit(0)).resume();
}
