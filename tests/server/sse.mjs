// A server of HTTP+SSE (2024-11-05) that breaks on request: a GET opens the one stream of a session, POSTs go where its first
// event says. See README.md.

import { randomUUID } from "node:crypto";
import { control } from "./control.mjs";
import { Exchange } from "./exchange.mjs";
import { answeredByFault } from "./faults.mjs";
import { listen } from "./listen.mjs";
import { Session } from "./session.mjs";
import { Run, TOOLS } from "./tools.mjs";

const VERSION = "2024-11-05";
const STREAM = "/sse";
const MESSAGES = "/messages";

/** Starts a server: `{ url, origin, log, executions(key), cancels(key), sessions, drop(how), reset(), close() }`. */
export async function createSseServer({ port, host } = {}) {
  const sse = new SseServer();
  const reset = () => sse.reset();
  const { origin, close } = await listen({ port, host, reset, handle: (req, res) => sse.handle(req, res) });
  return {
    url: `${origin}${STREAM}`,
    origin,
    log: sse.log,
    executions: (key) => sse.executions(key),
    cancels: (key) => sse.cancels.get(key) ?? 0,
    /** How many are open. */
    get sessions() {
      return sse.sessions;
    },
    drop: (how) => sse.drop(how),
    reset,
    close,
  };
}

/** Its runs end with it, but those whose script says that they go on. */
class SseSession extends Session {
  runs = new Set();

  end() {
    this.dead = 404;
    for (const run of this.runs) run.cancel("the stream is gone");
  }
}

class SseRun extends Run {
  keepOpen = true;

  constructor(parts, oncancel) {
    super(parts);
    this.oncancel = oncancel;
  }

  /** The stream is the session's, and stays. */
  cancel(reason) {
    this.cancelled = { reason };
    this.oncancel();
    if (!this.ignoreCancel) this.stop();
  }
}

class SseServer {
  #sessions = new Map();
  #executions = new Map();
  #faultsUsed = new Map();
  /** The last one that was told. */
  #endpoint;
  cancels = new Map();
  log = [];

  executions(key) {
    return this.#executions.get(key) ?? 0;
  }

  get sessions() {
    return this.#sessions.size;
  }

  /** Of all sessions, the stream: `"fin"`, `"rst"` or `"close"`. */
  drop(how) {
    for (const { listen } of this.#sessions.values()) {
      if (how === "close") listen.close();
      else listen.drop(how);
    }
  }

  reset() {
    this.drop("rst");
    for (const counts of [this.#sessions, this.#executions, this.#faultsUsed, this.cancels]) counts.clear();
    this.log.length = 0;
  }

  async handle(req, res) {
    const url = new URL(req.url, "http://localhost");
    const entry = { at: Date.now(), method: req.method, path: url.pathname };
    const exchange = new Exchange(req, res, entry);
    if (req.method === "OPTIONS") return exchange.answer(204);
    if (url.pathname.startsWith("/control/")) return control(this, exchange, url);
    this.log.push(entry);
    const faults = JSON.parse(url.searchParams.get("faults") ?? "{}");
    try {
      const asked = `${req.method} ${url.pathname}`;
      if (asked === `GET ${STREAM}`) return await this.#open(exchange, url, faults);
      if (asked === `POST ${MESSAGES}`) return await this.#post(exchange, url, faults);
      exchange.answer(404, `Cannot ${asked}`, { "content-type": "text/plain" });
    } catch (error) {
      // A mistake of ours, never a scripted fault: make it visible to whoever runs the test.
      console.error(error);
      exchange.rpcError(500, -32603, String(error));
    }
  }

  /** Faults of GET, and of the endpoint: `{ data?, delayMs?, withhold?, again? }`. */
  async #open(exchange, url, faults) {
    const fault = this.#due(faults, "GET");
    if (fault && (await answeredByFault(exchange, fault, () => {}))) return;
    const { data, delayMs = 0, withhold = false, again = false } = this.#due(faults, "endpoint") ?? {};
    const session = new SseSession(randomUUID(), VERSION);
    this.#sessions.set(session.id, session);
    exchange.entry.session = session.id;
    session.listen.ids = false;
    exchange.res.on("close", () => {
      this.#sessions.delete(session.id);
      session.end();
    });
    session.listen.attach(exchange.openEvents());
    // What is broken is broken for the session, too.
    const query = new URLSearchParams(url.searchParams);
    query.set("sessionId", session.id);
    const endpoint = (data ?? `${MESSAGES}?{query}`)
      .replace("{query}", query)
      .replace("{host}", exchange.header("host"));
    if (!again) this.#endpoint = endpoint;
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
    if (!withhold) await session.listen.raw(`event: endpoint\ndata: ${this.#endpoint}\n\n`);
  }

  async #post(exchange, url, faults) {
    const { entry } = exchange;
    const message = JSON.parse(Buffer.concat(await exchange.req.toArray()).toString("utf8"));
    const call = message.method === "tools/call" ? message.params : undefined;
    const key = call && (call.arguments?.key ?? call.name);
    const name = message.method ?? "response";
    Object.assign(entry, {
      rpc: message.method,
      id: message.id,
      key,
      session: url.searchParams.get("sessionId"),
    });
    const session = this.#sessions.get(entry.session);
    const fault = call?.arguments?.post ?? this.#due(faults, name);
    const execute = () => session && this.#act(session, message, key);
    if (fault && (await answeredByFault(exchange, fault, execute))) return;
    if (!session) return exchange.answer(404, "Could not find session", { "content-type": "text/plain" });
    exchange.answer(202, "Accepted", { "content-type": "text/plain" });
    this.#act(session, message, key);
  }

  #act(session, message, key) {
    const { method, id, params } = message;
    if (method === undefined) return session.answered(message);
    if (method === "notifications/cancelled") return session.runOf(params?.requestId)?.cancel(params.reason);
    if (id === undefined) return;
    if (method === "tools/call") return this.#call(session, message, key);
    return session.listen.send(JSON.stringify({ jsonrpc: "2.0", id, ...answerTo(method) }));
  }

  #call(session, request, key) {
    const oncancel = () => this.cancels.set(key, (this.cancels.get(key) ?? 0) + 1);
    const run = new SseRun({ session, stream: session.listen, request, key }, oncancel);
    const complaint = run.complaint();
    if (complaint) return run.answer({ error: { code: -32602, message: complaint } });
    session.begin(run);
    session.runs.add(run);
    this.#executions.set(key, this.executions(key) + 1);
    void run.execute(this.executions(key)).finally(() => session.runs.delete(run));
  }

  /** A fault with `times` strikes that often per name, and one with `after` not before so many. */
  #due(faults, name) {
    const fault = faults[name];
    if (!fault) return undefined;
    const used = this.#faultsUsed.get(name) ?? 0;
    this.#faultsUsed.set(name, used + 1);
    const { after = 0, times = Number.POSITIVE_INFINITY } = fault;
    return used >= after && used < after + times ? fault : undefined;
  }
}

function answerTo(method) {
  switch (method) {
    case "initialize":
      return {
        result: {
          protocolVersion: VERSION,
          capabilities: { tools: { listChanged: true }, logging: {} },
          serverInfo: { name: "landfall-sse-server", version: "1.0.0" },
        },
      };
    case "tools/list":
      return { result: { tools: TOOLS } };
    case "ping":
    case "logging/setLevel":
      return { result: {} };
    default:
      return { error: { code: -32601, message: `Method not found: ${method}` } };
  }
}
