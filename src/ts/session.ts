import { createClock } from "./clock.js";
import { group, type Settings } from "./config.js";
import { Connection, type Known, type Owner, type SessionInfo } from "./connection.js";
import { emit } from "./emit.js";
import { ConfigError, textOf } from "./errors.js";
import type { Why } from "./events.js";
import type { Instances } from "./instance.js";
import { noMetrics, Uncounted } from "./metrics.js";
import { listAllTools, type Tool } from "./paging.js";
import { observed, within } from "./promise.js";
import { checkedMethod, notificationParams, prepare, toolParams, type Wanted } from "./spec.js";
import type { CallOptions, Era, Metrics, Session, ToolCall } from "./types.js";
import { Unknowns } from "./unknown.js";
import { unsent } from "./unsent.js";

const aborted: Why = {
  reason: "cancelled",
  outcome: "not_sent",
  message: "the signal was aborted before the call",
};
const closedBefore: Why = {
  reason: "closed",
  outcome: "not_sent",
  message: "the session was closed before this call",
};

/**
 * A session over its connections: the next call after a trap opens a new one, which goes on with the server's session
 * without another handshake.
 */
export class StandAloneSession implements Session {
  era: Era = "legacy";
  protocolVersion = "";
  declare sessionId?: string;
  declare serverInfo?: { name: string; version: string };
  capabilities: Record<string, unknown> = {};
  declare [Symbol.asyncDispose]?: () => Promise<void>;
  readonly #instances: Instances;
  readonly #settings: Settings;
  readonly #owner: Owner;
  #connection: Connection | undefined;
  #known: Known | undefined;
  #closing: Promise<void> | undefined;
  #unsent = 0;

  constructor(instances: Instances, settings: Settings) {
    this.#instances = instances;
    this.#settings = settings;
    this.#owner = {
      settings,
      clock: createClock(),
      unknowns: new Unknowns(settings),
      uncounted: new Uncounted(),
      ready: (info, known) => this.#stands(info, known),
      neverReady: () => {
        this.#known = undefined;
      },
    };
    // Some engines have no Symbol.asyncDispose: the member would be called "undefined".
    if (typeof Symbol.asyncDispose === "symbol") {
      Object.defineProperty(this, Symbol.asyncDispose, { value: () => this.close() });
    }
  }

  /** Loads the module and does the handshake. */
  async start(): Promise<void> {
    const { handshakeMs } = this.#settings;
    let isLate = false;
    const late = () => {
      isLate = true;
      return new Error(`it was not there within handshakeMs (${handshakeMs})`);
    };
    let connection: Connection;
    try {
      await within(handshakeMs, () => this.#instances.ready(), late);
      connection = this.#live();
    } catch (thrown) {
      if (thrown instanceof ConfigError) throw thrown;
      const why = noModule(thrown, isLate ? "connect_timeout" : "internal_error");
      await this.#unsentCall("initialize", undefined, why, thrown).result;
      return;
    }
    await connection.ready;
  }

  callTool(name: string, args: Record<string, unknown> = {}, options?: CallOptions): ToolCall {
    const text = toolParams(name, args);
    const params = { name, arguments: args };
    return this.#request({ method: "tools/call", params, text, options, isPage: false });
  }

  request(method: string, params: Record<string, unknown> = {}, options?: CallOptions): ToolCall {
    return this.#request({ method, params, options, isPage: false });
  }

  notify(method: string, params?: Record<string, unknown>): Promise<void> {
    return observed(this.#notify(method, params));
  }

  listTools(options?: CallOptions): Promise<Tool[]> {
    const page = (params: Record<string, unknown>) =>
      this.#request({ method: "tools/list", params, options, isPage: true });
    const broken = (why: Why) => this.#unsentCall("tools/list", undefined, why);
    return observed(listAllTools(page, broken));
  }

  metrics(options?: { reset?: boolean }): Metrics {
    const { reset = false } = group("options", options, ["reset"]);
    if (typeof reset !== "boolean") throw new ConfigError("reset", "reset must be true or false");
    const counted = this.#connection?.metrics(reset) ?? noMetrics();
    return this.#owner.uncounted.addTo(counted, reset);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #close(): Promise<void> {
    this.#owner.unknowns.stop();
    const closing = this.#connection?.close() ?? Promise.resolve();
    if (this.#connection?.isOver !== true || this.#known?.sessionId === undefined) return closing;
    // A trap took the core that had to end the server's session: another one does.
    try {
      return this.#live().close();
    } catch (thrown) {
      this.#settings.log.write("warn", `the server's session can't be ended: ${textOf(thrown)}`);
      return closing;
    }
  }

  #request(wanted: Wanted): ToolCall {
    const { method } = wanted;
    const prepared = prepare(wanted, this.#settings);
    const fail = (why: Why, cause: unknown) => {
      this.#owner.uncounted.count(why);
      return this.#unsentCall(method, prepared.spec.tool, why, cause);
    };
    const { signal } = prepared;
    if (signal?.aborted === true && this.#closing === undefined) return fail(aborted, signal.reason);
    const connection = this.#usable();
    if (connection instanceof Connection) return connection.call(prepared);
    return fail(connection.why, connection.cause);
  }

  async #notify(method: string, params: Record<string, unknown> | undefined): Promise<void> {
    const checked = checkedMethod(method);
    const text = notificationParams(params);
    const connection = this.#usable();
    if (connection instanceof Connection) return connection.notify(checked, text);
    return this.#unsentCall(method, undefined, connection.why, connection.cause).result;
  }

  /** The connection to use, or why there is none. */
  #usable(): Connection | { why: Why; cause?: unknown } {
    if (this.#closing !== undefined) return { why: closedBefore };
    try {
      return this.#live();
    } catch (cause) {
      return { why: noModule(cause, "internal_error"), cause };
    }
  }

  #live(): Connection {
    if (this.#connection === undefined || this.#connection.isOver) this.#connection = this.#open();
    return this.#connection;
  }

  #open(): Connection {
    const open = () => new Connection(this.#instances.acquire(), this.#owner, this.#known);
    try {
      return open();
    } catch (thrown) {
      // A core that refuses to go on with this session may still make another.
      if (!(thrown instanceof ConfigError) || this.#known === undefined) throw thrown;
      this.#known = undefined;
      return open();
    }
  }

  #stands(info: SessionInfo, known: Known | undefined): void {
    this.#known = known;
    // Not all servers give these, and a new handshake may bring fewer.
    delete this.sessionId;
    delete this.serverInfo;
    Object.assign(this, info);
  }

  #unsentCall(method: string, tool: string | undefined, why: Why, cause?: unknown): ToolCall {
    this.#unsent += 1;
    const call = { id: `unsent-${this.#unsent}`, method, tool, at: this.#owner.clock() };
    const { handle, event } = unsent(call, why, cause);
    // After close() there is no callback.
    if (this.#closing === undefined) queueMicrotask(() => emit(this.#settings, event));
    return handle;
  }
}

function noModule(thrown: unknown, reason: "internal_error" | "connect_timeout"): Why {
  const said = textOf(thrown);
  // What browsers say names no directive, or one that is far too wide.
  const isPolicy = /content security policy|\bCSP\b/i.test(said);
  const advice = isPolicy
    ? "; add 'wasm-unsafe-eval' to script-src of the page's Content-Security-Policy"
    : "";
  const message = `landfall's WebAssembly module can't be used: ${said}${advice}`;
  return { reason, outcome: "not_sent", message };
}
