// An MCP endpoint without faults that writes as fast as it can: for measurements of what clients cost.
import { setTimeout as sleep } from "node:timers/promises";

const STREAM = { "content-type": "text/event-stream", "cache-control": "no-cache" };
const SESSION = {
  protocolVersion: "2025-11-25",
  capabilities: { tools: {} },
  serverInfo: { name: "plain", version: "1.0.0" },
};

/** What is written once to all: the streams of a group, when told to. */
const groups = new Map();

/** True where the request is for this endpoint. */
export function plain(req, res) {
  if (!req.url.startsWith("/plain")) return false;
  void answered(req, res);
  return true;
}

async function answered(req, res) {
  if (req.method !== "POST") return res.writeHead(req.method === "DELETE" ? 200 : 405).end();
  const chunks = [];
  for await (const chunk of req) chunks.push(chunk);
  const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString());
  if (id === undefined) return res.writeHead(202).end();
  if (method !== "tools/call") {
    const headers = { "content-type": "application/json", "mcp-session-id": "plain" };
    const result = method === "initialize" ? SESSION : {};
    return res.writeHead(200, headers).end(JSON.stringify({ jsonrpc: "2.0", id, result }));
  }
  res.writeHead(200, STREAM).flushHeaders();
  if (params.name === "long") return long(res, id, params.arguments);
  const { group } = params.arguments;
  groups.set(group, [...(groups.get(group) ?? []), { res, id }]);
}

const event = (n, message) =>
  `id: ${n}\nevent: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`;
const answer = (id) => ({ id, result: { content: [] } });

/** One event of so many bytes, in chunks of HTTP of so many, and the answer. */
function long(res, id, { bytes, chunk }) {
  const text = "x".repeat(bytes - 200);
  const message = { method: "notifications/message", params: { level: "info", data: text } };
  const whole = Buffer.from(event(1, message) + event(2, answer(id)));
  const size = Buffer.from(`${chunk.toString(16)}\r\n`);
  const parts = [];
  let at = 0;
  for (; at + chunk <= whole.length; at += chunk) {
    parts.push(size, whole.subarray(at, at + chunk), Buffer.from("\r\n"));
  }
  const rest = whole.subarray(at);
  parts.push(Buffer.from(`${rest.length.toString(16)}\r\n`), rest, Buffer.from("\r\n0\r\n\r\n"));
  // Node would make two writes of each chunk: a million of them are written at once.
  res.socket.end(Buffer.concat(parts));
}

const written = (res, text) => new Promise((resolve) => res.write(text, resolve));

/**
 * Writes bursts of events to the streams of a group, each event a chunk of its own, and then their answers. A burst has an
 * event for each stream, or as many for the first one alone.
 */
export async function bursts({ group, events, burst, everyMs, toAll }) {
  const streams = groups.get(group) ?? [];
  groups.delete(group);
  const data = "x".repeat(90);
  for (let n = 0; n < events; ) {
    const writes = [sleep(everyMs)];
    for (let i = 0; i < burst; i += 1) {
      n += 1;
      const message = { method: "notifications/message", params: { level: "info", data: `${n} ${data}` } };
      writes.push(written(streams[toAll ? i % streams.length : 0].res, event(n, message)));
    }
    await Promise.all(writes);
  }
  await sleep(200);
  for (const { res, id } of streams) res.end(event(events + 1, answer(id)));
}

/** How many streams of a group are open. */
export const waiting = (group) => groups.get(group)?.length ?? 0;
