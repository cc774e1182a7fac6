// An MCP server of 2026-07-28 that does what a script says. See README.md.

import { control } from "../control.mjs";
import { CORS, Exchange } from "../exchange.mjs";
import { answeredByFault } from "../faults.mjs";
import { listen } from "../listen.mjs";
import { FaultServer } from "../server.mjs";
import { checkParams, checkRequest, isModern } from "./checks.mjs";
import { complete, ModernRun } from "./run.mjs";
import { Subscriptions } from "./subscriptions.mjs";
import { Tasks } from "./tasks.mjs";
import { Toolbox } from "./tools.mjs";
import {
  CAPABILITIES,
  INVALID_PARAMS,
  METHOD_NOT_FOUND,
  MODERN,
  Refused,
  TASKS,
  UNSUPPORTED_VERSION,
} from "./words.mjs";

const ALLOWED = "access-control-allow-headers";
/** Each argument in a header by its name. */
const OF_2026 = [
  ...["accept", "authorization", "content-type", "mcp-protocol-version", "mcp-method", "mcp-name"],
  ...["mcp-param-region", "mcp-param-priority", "mcp-param-dry-run", "mcp-param-zone"],
].join(", ");
/** What a server of that year lets a page send. */
const LISTS = {
  2025: CORS,
  2026: { ...CORS, [ALLOWED]: OF_2026 },
  both: { ...CORS, [ALLOWED]: `${CORS[ALLOWED]}, ${OF_2026}` },
};

const TOOLS_PER_PAGE = 3;
const DEFAULTS = { supported: [MODERN], ttlMs: 0, cors: "2026" };

/**
 * Starts a server: `{ url, origin, log, executions(key), completions(key), cancels(key), toolbox, tasks, subscriptions, addTool(name), reset(),
 * close() }`. `legacy` has it speak the earlier era, too: `"sessions"`, or `"stateless"`.
 */
export async function createModernServer(options = {}) {
  const { port, host, ...rest } = { ...DEFAULTS, ...options };
  const modern = new ModernServer(rest);
  const reset = () => modern.reset();
  const { origin, close } = await listen({
    port,
    host,
    reset,
    handle: (req, res) => modern.handle(req, res),
  });
  return {
    url: `${origin}/mcp`,
    origin,
    log: modern.log,
    toolbox: modern.toolbox,
    tasks: modern.tasks,
    subscriptions: modern.subscriptions,
    executions: (key) => modern.executions(key),
    completions: (key) => modern.count("completed", key),
    cancels: (key) => modern.count("cancelled", key),
    addTool: (name) => modern.addTool(name),
    reset,
    close,
  };
}

class ModernServer {
  #counts = { began: new Map(), completed: new Map(), cancelled: new Map() };
  #faultsUsed = new Map();
  #runs = new Set();
  #legacy;
  log = [];
  toolbox = new Toolbox();
  tasks = new Tasks((task) => this.subscriptions.task(task));
  subscriptions = new Subscriptions(this.tasks);

  constructor({ supported, ttlMs, cors, legacy }) {
    this.supported = supported;
    this.ttlMs = ttlMs;
    this.cors = cors;
    this.legacy = legacy;
    this.#legacy = legacy && new FaultServer();
    if (this.#legacy) this.#legacy.log = this.log;
  }

  executions(key) {
    return this.count("began", key) + (this.#legacy?.executions(key) ?? 0);
  }

  count(what, key) {
    return this.#counts[what].get(key) ?? 0;
  }

  #add(what, key) {
    this.#counts[what].set(key, this.count(what, key) + 1);
  }

  completed(key) {
    this.#add("completed", key);
  }

  cancelled(key) {
    this.#add("cancelled", key);
  }

  addTool(name) {
    this.toolbox.add(name);
    this.subscriptions.changed("toolsListChanged");
  }

  reset() {
    for (const run of this.#runs) run.stop();
    this.#legacy?.reset();
    this.subscriptions.all("rst");
    this.tasks.clear();
    this.#faultsUsed.clear();
    for (const counts of Object.values(this.#counts)) counts.clear();
    this.log.length = 0;
  }

  async handle(req, res) {
    const url = new URL(req.url, "http://localhost");
    const asked = (name) => url.searchParams.get(name);
    const entry = { at: Date.now(), method: req.method };
    const exchange = new Exchange(req, res, entry, LISTS[asked("cors") ?? this.cors]);
    if (req.method === "OPTIONS") return exchange.answer(204);
    if (url.pathname.startsWith("/control/")) return control(this, exchange, url);
    if (url.pathname !== "/mcp") return exchange.rpcError(404, -32600, "Not Found");
    const faults = JSON.parse(asked("faults") ?? "{}");
    const supported = asked("supported")?.split(",") ?? this.supported;
    try {
      await this.#route(exchange, { faults, supported, legacy: asked("legacy") ?? this.legacy });
    } catch (error) {
      // A mistake of ours, never a scripted fault: make it visible to whoever runs the test.
      console.error(error);
      exchange.rpcError(500, -32603, String(error));
    }
  }

  async #route(exchange, { faults, supported, legacy }) {
    const { req, entry } = exchange;
    const body = req.method === "POST" ? Buffer.concat(await req.toArray()).toString("utf8") : undefined;
    const message = body === undefined ? undefined : parsed(body);
    if (legacy && this.#legacy && !(message && isModern(req.headers, message))) {
      return this.#legacy.handle(asLegacy(req, body, legacy), exchange.res);
    }
    this.log.push(Object.assign(entry, described(req.headers, message)));
    const fault = this.#due(faults[message?.method ?? req.method], message?.method ?? req.method);
    const own = this.#due(message?.params?.arguments?.post, `post ${entry.key}`);
    const execute = () => this.#add("began", entry.key);
    for (const one of [own, fault]) {
      if (!one) continue;
      if (one.error)
        return this.#refuse(
          exchange,
          message,
          new Refused(one.error.code, one.error.message, { status: one.status ?? 400, data: one.error.data }),
        );
      if (await answeredByFault(exchange, one, execute)) return;
    }
    if (req.method !== "POST") {
      return exchange.json(
        405,
        { jsonrpc: "2.0", id: null, error: { code: -32000, message: "Method Not Allowed" } },
        { allow: "POST" },
      );
    }
    if (message?.jsonrpc !== "2.0")
      return exchange.rpcError(400, -32600, "Bad Request: not one JSON-RPC message");
    try {
      await this.#answer(exchange, message, { supported, json: own?.json, withhold: fault?.withhold });
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.#refuse(exchange, message, error);
    }
  }

  #refuse(exchange, message, { code, message: text, status, data }) {
    exchange.entry.code = code;
    exchange.json(status, { jsonrpc: "2.0", id: message?.id ?? null, error: { code, message: text, data } });
  }

  async #answer(exchange, message, { supported, json, withhold }) {
    const { headers } = exchange.req;
    if (message.id === undefined) return exchange.answer(202);
    if (message.method === undefined) throw new Refused(-32600, "Invalid Request: no responses are taken");
    if (message.method === "initialize") {
      const requested = message.params?.protocolVersion;
      throw new Refused(UNSUPPORTED_VERSION, "Unsupported protocol version", {
        data: { supported, requested },
      });
    }
    checkRequest(headers, message, supported);
    const { method, params } = message;
    const capabilities = params._meta[CAPABILITIES];
    switch (method) {
      case "tools/call":
        return this.#call(exchange, message, json);
      case "subscriptions/listen":
        return this.subscriptions.open(exchange, message, capabilities, { withhold });
      case "tasks/get":
      case "tasks/update":
      case "tasks/cancel":
        return respond(exchange, message, this.tasks.answer(method, params, capabilities));
      default:
        return respond(exchange, message, this.#plain(method, params, supported));
    }
  }

  #plain(method, params, supported) {
    const cacheable = { ttlMs: this.ttlMs, cacheScope: "private" };
    if (method === "server/discover")
      return { supportedVersions: supported, capabilities: CAN, ...cacheable };
    if (method === "resources/list") return { resources: [], ...cacheable };
    if (method !== "tools/list") {
      throw new Refused(METHOD_NOT_FOUND, `Method not found: ${method}`, { status: 404 });
    }
    const from = Number(params.cursor ?? 0);
    const { list } = this.toolbox;
    const next = from + TOOLS_PER_PAGE;
    const page = { tools: list.slice(from, next), ...cacheable };
    return next < list.length ? { ...page, nextCursor: String(next) } : page;
  }

  #call(exchange, request, json) {
    const { name, arguments: args } = request.params;
    const tool = this.toolbox.named(name);
    if (!tool) throw new Refused(INVALID_PARAMS, `Unknown tool: ${name}`, { status: 200 });
    checkParams(exchange.req.headers, tool, args);
    const { key } = exchange.entry;
    const run = new ModernRun({ server: this, exchange, request, key, json });
    if (run.isFirstRound) this.#add("began", key);
    this.#runs.add(run);
    void run.execute(this.count("began", key)).finally(() => this.#runs.delete(run));
  }

  /** A fault with `times` strikes that often per name, and one with `after` not before so many. */
  #due(fault, name) {
    if (!fault) return undefined;
    const used = this.#faultsUsed.get(name) ?? 0;
    this.#faultsUsed.set(name, used + 1);
    const { after = 0, times = Number.POSITIVE_INFINITY } = fault;
    return used >= after && used < after + times ? fault : undefined;
  }
}

const CAN = {
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  logging: {},
  extensions: { [TASKS]: {} },
};

const respond = (exchange, { id }, result) =>
  exchange.json(200, { jsonrpc: "2.0", id, result: complete(result) });

/** Its line in the log. */
function described(headers, message) {
  const { name, arguments: args, taskId, _meta } = message?.params ?? {};
  return {
    rpc: message?.method,
    id: message?.id,
    key: message?.method === "tools/call" ? (args?.key ?? name) : undefined,
    taskId,
    protocolVersion: headers["mcp-protocol-version"],
    session: headers["mcp-session-id"],
    lastEventId: headers["last-event-id"],
    meta: _meta,
    mcp: Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith("mcp-"))),
  };
}

function parsed(body) {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** The same request for the fault server, whose body was read already. */
function asLegacy(req, body, legacy) {
  const url = new URL(req.url, "http://localhost");
  if (legacy === "stateless" && !url.searchParams.has("faults")) {
    url.searchParams.set("faults", JSON.stringify({ initialize: { session: null } }));
  }
  const { method, headers, socket } = req;
  const chunks = body === undefined ? [] : [Buffer.from(body)];
  return {
    method,
    headers,
    socket,
    url: `${url.pathname}${url.search}`,
    async *[Symbol.asyncIterator]() {
      yield* chunks;
    },
  };
}
