// The era of 2026-07-28 in front of the fault server: no session, no resume, each request for itself. The tools run
// behind it, in a session of 2025 that the test opens first.

import { Exchange } from "../server/exchange.mjs";
import { answeredByFault } from "../server/faults.mjs";
import { PlainClient } from "../server/plain-client.mjs";
import { TOOLS } from "../server/tools.mjs";

const MODERN = "2026-07-28";
const META = "io.modelcontextprotocol";
const HEADER_MISMATCH = -32020;
const UNSUPPORTED_VERSION = -32022;

/** One argument of `scripted` is to be seen in a header. */
const LISTED = TOOLS.map((tool) => {
  if (tool.name !== "scripted") return tool;
  const region = { type: "string", "x-mcp-header": "Region" };
  return {
    ...tool,
    inputSchema: { ...tool.inputSchema, properties: { ...tool.inputSchema.properties, region } },
  };
});

/** Opens the session behind; from then on the front speaks nothing but its own era. */
export const openBehind = (url) => PlainClient.open(url);

/** The script of a call, with an answer of this era at its end. */
export function modernSteps(steps) {
  const hasEnd = steps.some((step) => step.error || step.result || step.noAnswer);
  const result = { resultType: "complete", content: [{ type: "text", text: "done" }] };
  return hasEnd ? steps : [...steps, { result }];
}

/**
 * To be asked before the fault server is: `(req, res, log)`, true if the request was dealt with here. Faults in the
 * address are those of `server/discover` and `subscriptions/listen`, and strike after so many requests: `after`.
 */
export function modernFront() {
  const asked = new Map();
  return (req, res, log) => {
    const behind = log.find(({ opened }) => opened)?.opened;
    if (!behind || !log.some(({ rpc }) => rpc === "notifications/initialized")) return false;
    const rpc = req.headers["mcp-method"];
    if (rpc === "tools/call" && req.headers["mcp-protocol-version"] === MODERN) {
      req.headers["mcp-session-id"] = behind;
      req.headers["mcp-protocol-version"] = "2025-11-25";
      return false;
    }
    const entry = { at: Date.now(), method: req.method, rpc, lastEventId: req.headers["last-event-id"] };
    log.push(entry);
    const nth = asked.get(rpc) ?? 0;
    asked.set(rpc, nth + 1);
    const fault = JSON.parse(new URL(req.url, "http://localhost").searchParams.get("faults") ?? "{}")[rpc];
    void answer(new Exchange(req, res, entry), fault && nth >= (fault.after ?? 0) ? fault : {});
    return true;
  };
}

async function answer(exchange, fault) {
  if (exchange.req.method !== "POST") return exchange.rpcError(405, -32600, "Method Not Allowed");
  if (await answeredByFault(exchange, fault, () => {})) return;
  const message = JSON.parse(Buffer.concat(await exchange.req.toArray()).toString("utf8"));
  exchange.entry.id = message.id;
  const version = message.params?._meta?.[`${META}/protocolVersion`];
  const rejected = (code, text, data) =>
    exchange.json(400, { jsonrpc: "2.0", id: message.id ?? null, error: { code, message: text, data } });
  if (version !== MODERN) {
    return rejected(UNSUPPORTED_VERSION, "Unsupported protocol version", {
      supported: [MODERN],
      requested: version,
    });
  }
  if (
    exchange.header("mcp-protocol-version") !== version ||
    exchange.header("mcp-method") !== message.method
  ) {
    return rejected(HEADER_MISMATCH, "The headers do not say what the body says");
  }
  if (message.id === undefined) return exchange.answer(202);
  if (message.method === "subscriptions/listen") return listen(exchange, message);
  const result = RESULTS[message.method];
  if (!result) return exchange.rpcError(404, -32601, `Method not found: ${message.method}`, message.id);
  const cacheable = { ttlMs: 60_000, cacheScope: "private" };
  exchange.json(200, {
    jsonrpc: "2.0",
    id: message.id,
    result: { resultType: "complete", ...cacheable, ...result },
  });
}

const RESULTS = {
  "server/discover": {
    supportedVersions: [MODERN],
    capabilities: { tools: { listChanged: true } },
    _meta: { [`${META}/serverInfo`]: { name: "landfall-fault-server", version: "1.0.0" } },
  },
  "tools/list": { tools: LISTED },
};

/** Acknowledges, tells that the tools changed, and drops the stream a moment later. */
async function listen(exchange, { id, params }) {
  const connection = exchange.openEvents();
  const _meta = { [`${META}/subscriptionId`]: id };
  const send = (method, more) =>
    connection.write(`data: ${JSON.stringify({ jsonrpc: "2.0", method, params: { ...more, _meta } })}\n\n`);
  await send("notifications/subscriptions/acknowledged", { notifications: params.notifications });
  await send("notifications/tools/list_changed");
  setTimeout(() => connection.cut("rst"), 200);
}
