// An MCP server (Streamable HTTP, 2025-03-26 to 2025-11-25) that breaks on request. See README.md.

import { randomUUID } from "node:crypto";
import { control } from "./control.mjs";
import { Exchange } from "./exchange.mjs";
import { answeredByFault } from "./faults.mjs";
import { listen } from "./listen.mjs";
import { Session } from "./session.mjs";
import { callKeyOf, Run, TOOLS } from "./tools.mjs";

const VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26"];
const BODY_LIMIT = 4 << 20;
const TOOLS_PER_PAGE = 3;

/** Starts a fault server: `{ url, close(), executions(key), log, reset() }`. */
export async function createFaultServer({ port, host } = {}) {
  const faults = new FaultServer();
  const reset = () => faults.reset();
  const { origin, close } = await listen({
    port,
    host,
    reset,
    handle: (req, res) => faults.handle(req, res),
  });
  return {
    url: `${origin}/mcp`,
    origin,
    log: faults.log,
    executions: (key) => faults.executions(key),
    reset,
    close,
  };
}

export class FaultServer {
  #sessions = new Map();
  #executions = new Map();
  #faultsUsed = new Map();
  #streams = 0;
  log = [];

  executions(key) {
    return this.#executions.get(key) ?? 0;
  }

  reset() {
    for (const session of this.#sessions.values()) session.kill(404);
    this.#sessions.clear();
    this.#executions.clear();
    this.#faultsUsed.clear();
    this.log.length = 0;
  }

  async handle(req, res) {
    const url = new URL(req.url, "http://localhost");
    const entry = { at: Date.now(), method: req.method };
    const exchange = new Exchange(req, res, entry);
    if (req.method === "OPTIONS") return exchange.answer(204);
    if (url.pathname.startsWith("/control/")) return control(this, exchange, url);
    if (url.pathname !== "/mcp") return exchange.rpcError(404, -32600, "Not Found");
    Object.assign(entry, {
      lastEventId: req.headers["last-event-id"],
      session: req.headers["mcp-session-id"],
      protocolVersion: req.headers["mcp-protocol-version"],
    });
    this.log.push(entry);
    try {
      await this.#mcp(exchange, JSON.parse(url.searchParams.get("faults") ?? "{}"));
    } catch (error) {
      // A mistake of ours, never a scripted fault: make it visible to whoever runs the test.
      console.error(error);
      exchange.rpcError(500, -32603, String(error));
    }
  }

  async #mcp(exchange, faults) {
    const { method } = exchange.req;
    if (method === "POST") return this.#post(exchange, faults);
    if (method !== "GET" && method !== "DELETE") return exchange.rpcError(405, -32600, "Method Not Allowed");
    const fault = this.#due(faults[method], method);
    if (fault && (await answeredByFault(exchange, fault, () => {}))) return;
    const session = this.#sessionOf(exchange);
    if (!session) return;
    if (method === "GET") return this.#get(exchange, session);
    session.kill(404);
    exchange.answer(200);
  }

  // ---- POST

  async #post(exchange, faults) {
    const message = await readMessage(exchange);
    if (message === undefined) return;
    const { entry } = exchange;
    const call = message.method === "tools/call" ? message.params : undefined;
    const key = call && (call.arguments?.key ?? call.name);
    Object.assign(entry, { rpc: message.method, id: message.id, key });
    const name = message.method ?? "response";
    const fault = this.#due(call?.arguments?.post, `post ${key}`) ?? this.#due(faults[name], name);
    if (fault) {
      const execute = () => this.#start(message, key, this.#sessions.get(entry.session));
      if (await answeredByFault(exchange, fault, execute)) return;
    }
    if (!acceptable(exchange)) return;
    if (message.method === "initialize") return this.#initialize(exchange, message, fault ?? {});
    const session = this.#sessionOf(exchange);
    if (!session) return;
    if (message.id === undefined) return this.#notified(exchange, session, message);
    if (message.method === undefined) return exchange.answer(session.answered(message) ? 202 : 400);
    if (call) return this.#call(exchange, session, message, key, fault ?? {});
    exchange.json(200, { jsonrpc: "2.0", id: message.id, ...plainAnswer(message) });
  }

  #initialize(exchange, { id, params = {} }, { session: sessionId = randomUUID(), version }) {
    const protocolVersion =
      version ?? (VERSIONS.includes(params.protocolVersion) ? params.protocolVersion : VERSIONS[0]);
    this.#sessions.set(sessionId ?? undefined, new Session(sessionId, protocolVersion));
    exchange.entry.opened = sessionId;
    const result = {
      protocolVersion,
      capabilities: { tools: {}, logging: {} },
      serverInfo: { name: "landfall-fault-server", version: "1.0.0" },
    };
    const headers = sessionId === null ? {} : { "mcp-session-id": sessionId };
    exchange.json(200, { jsonrpc: "2.0", id, result }, headers);
  }

  #notified(exchange, session, { method, params }) {
    if (method === "notifications/cancelled") {
      const run = session.runOf(params?.requestId);
      Object.assign(exchange.entry, { key: run?.key, cancels: params?.requestId });
      run?.cancel(params.reason);
    }
    exchange.answer(202);
  }

  #call(exchange, session, request, key, fault) {
    const { json, accepted202, contentType } = fault;
    const first = session.runWith(callKeyOf(request));
    if (first) return repeated(exchange, first, request, fault);
    const run = this.#begin(request, key, session);
    const complaint = run.complaint();
    if (complaint) return exchange.rpcError(200, -32602, complaint, request.id);
    if (accepted202) {
      run.stream = session.listen;
      run.keepOpen = true;
      exchange.answer(202);
    } else if (json) {
      void run.answered.then((message) => exchange.json(200, message));
    } else {
      run.stream.attach(exchange.openEvents(contentType ? { "content-type": contentType } : {}));
    }
    this.#execute(run);
  }

  /** The tool runs, and nobody is connected to hear of it. */
  #start(request, key, session) {
    if (!session || session.runWith(callKeyOf(request))) return;
    this.#execute(this.#begin(request, key, session));
  }

  #begin(request, key, session) {
    this.#streams += 1;
    const stream = session.openStream(`k${this.#streams}`, key);
    return new Run({ session, stream, request, key });
  }

  #execute(run) {
    const execution = this.executions(run.key) + 1;
    this.#executions.set(run.key, execution);
    run.session.begin(run);
    run.execute(execution);
  }

  // ---- GET

  #get(exchange, session) {
    const { lastEventId } = exchange.entry;
    if (!(exchange.header("accept") ?? "").includes("text/event-stream")) {
      return exchange.rpcError(406, -32000, "Not Acceptable: Client must accept text/event-stream");
    }
    if (lastEventId !== undefined) return this.#resume(exchange, session, lastEventId);
    if (session.listen.held)
      return exchange.rpcError(409, -32000, "Conflict: Only one SSE stream is allowed");
    session.listen.attach(exchange.openEvents());
  }

  async #resume(exchange, session, id) {
    const stream = session.streamWith(id);
    if (!stream) return exchange.rpcError(400, -32000, "Bad Request: Unknown event ID");
    exchange.entry.key = stream.key;
    const refusal = stream.refusals.shift();
    if (refusal?.status === 200) return exchange.answer(200, "", { "content-type": "text/event-stream" });
    if (refusal && (await answeredByFault(exchange, refusal, () => {}))) return;
    if (stream.evicted === "empty") return exchange.openEvents().end();
    if (stream.evicted) return exchange.rpcError(stream.evicted, -32000, "Bad Request: Unknown event ID");
    if (stream.held && stream.whileHeld === "409") {
      return exchange.rpcError(409, -32000, "Conflict: Stream already has an active connection");
    }
    const connection = exchange.openEvents();
    if (stream.held && stream.whileHeld === "replay") {
      stream.replay(id, connection);
      return connection.end();
    }
    stream.resume(id, connection);
  }

  // ---- Shared

  #sessionOf(exchange) {
    const id = exchange.header("mcp-session-id");
    const session = this.#sessions.get(id);
    if (!session && id === undefined) {
      exchange.rpcError(400, -32000, "Bad Request: Mcp-Session-Id header is required");
    } else if (!session || session.dead) {
      exchange.rpcError(session?.dead ?? 404, -32001, "Session not found");
    } else if (versionProblem(exchange, session)) {
      exchange.rpcError(400, -32000, `Bad Request: ${versionProblem(exchange, session)}`);
    } else {
      return session;
    }
    return undefined;
  }

  /** A fault with `times` strikes that often per name, any other always. */
  #due(fault, name) {
    if (fault?.times === undefined) return fault;
    const used = this.#faultsUsed.get(name) ?? 0;
    this.#faultsUsed.set(name, used + 1);
    return used < fault.times ? fault : undefined;
  }
}

/**
 * A call whose key this session has seen: the tool does not run again. The repeat gets the answer, at once if there is
 * one, or takes the stream of the run over from its first event; the answer then goes out under the repeat's id.
 */
function repeated(exchange, run, { id }, { json, accepted202 }) {
  exchange.entry.repeats = run.request.id;
  if (accepted202) return exchange.answer(202);
  if (json || run.isAnswered) return run.answered.then((message) => exchange.json(200, { ...message, id }));
  run.answerId = id;
  run.session.answers(id, run);
  run.stream.restart(exchange.openEvents());
}

function acceptable(exchange) {
  const accept = exchange.header("accept") ?? "";
  if (!accept.includes("application/json") || !accept.includes("text/event-stream")) {
    exchange.rpcError(
      406,
      -32000,
      "Not Acceptable: Client must accept application/json and text/event-stream",
    );
    return false;
  }
  if (!(exchange.header("content-type") ?? "").startsWith("application/json")) {
    exchange.rpcError(415, -32000, "Unsupported Media Type: Content-Type must be application/json");
    return false;
  }
  return true;
}

/** Stricter than the official servers: whoever forgets the header after 2025-03-26 is told. */
function versionProblem(exchange, session) {
  const sent = exchange.header("mcp-protocol-version");
  if (sent === undefined) {
    return session.protocolVersion === "2025-03-26" ? undefined : "MCP-Protocol-Version header is required";
  }
  if (!VERSIONS.includes(sent)) return `Unsupported protocol version: ${sent}`;
  return sent === session.protocolVersion
    ? undefined
    : `The session speaks ${session.protocolVersion}, not ${sent}`;
}

function plainAnswer({ method, params }) {
  if (method === "ping") return { result: {} };
  if (method === "logging/setLevel") return { result: {} };
  if (method !== "tools/list") return { error: { code: -32601, message: `Method not found: ${method}` } };
  const from = Number(params?.cursor ?? 0);
  const tools = TOOLS.slice(from, from + TOOLS_PER_PAGE);
  const next = from + TOOLS_PER_PAGE;
  return { result: next < TOOLS.length ? { tools, nextCursor: String(next) } : { tools } };
}

async function readMessage(exchange) {
  const chunks = [];
  let size = 0;
  for await (const chunk of exchange.req) {
    size += chunk.length;
    if (size <= BODY_LIMIT) chunks.push(chunk);
  }
  if (size > BODY_LIMIT) {
    exchange.rpcError(413, -32000, "Payload Too Large");
    return undefined;
  }
  try {
    const message = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    if (message?.jsonrpc === "2.0") return message;
    exchange.rpcError(400, -32600, "Bad Request: not one JSON-RPC message");
  } catch {
    exchange.rpcError(400, -32700, "Parse error");
  }
  return undefined;
}
