// A session of landfall's own.
import type { Era } from "../api/failure.js";
import type { Metrics } from "../api/metrics.js";
import type { CallOptions, State } from "../api/options.js";
import type { Session, ToolCall } from "../api/session.js";
import { createClock } from "../base/clock.js";
import { observed } from "../base/promise.js";
import { emit } from "../call/emit.js";
import type { Why } from "../call/events.js";
import { Uncounted } from "../call/metrics.js";
import { OutcomeResolver } from "../call/outcome-resolver.js";
import { Promised } from "../call/record.js";
import { unsent } from "../call/unsent.js";
import type { Instances } from "../core/instance.js";
import { checkedMethod, notificationParams, prepare, toolParams, type Wanted } from "../options/call-spec.js";
import type { Settings } from "../options/settings.js";
import { type Known, stateOf } from "../options/state.js";
import { Connection, type Owner } from "./connection.js";
import { Connections, type NoConnection } from "./connections.js";
import type { SessionInfo } from "./info.js";
import { listAllTools, type Tool } from "./paging.js";
import { ServerRequests } from "./requests.js";

/** Why a call was not made whose signal was aborted before. */
export const aborted: Why = {
  reason: "cancelled",
  outcome: "not_sent",
  message: "the signal was aborted before the call",
};
/** Why a call was not made after `close()`. */
export const closedBefore: Why = {
  reason: "closed",
  outcome: "not_sent",
  message: "the session was closed before this call",
};

/** A session of landfall's own. */
export class StandAloneSession implements Session {
  era: Era = "legacy";
  protocolVersion = "";
  declare sessionId?: string;
  declare serverInfo?: { name: string; version: string };
  capabilities: Record<string, unknown> = {};
  declare [Symbol.asyncDispose]?: () => Promise<void>;
  readonly #settings: Settings;
  readonly #owner: Owner;
  readonly #connections: Connections;
  #closing: Promise<void> | undefined;
  #unsent = 0;

  constructor(instances: Instances, settings: Settings) {
    this.#settings = settings;
    this.#owner = {
      settings,
      clock: createClock(),
      outcomes: new OutcomeResolver(settings),
      uncounted: new Uncounted(),
      requests: (answer) => new ServerRequests(settings, answer),
      // Who listens hears of it by its event.
      heard: () => {},
      emit: (event, ack) => emit(settings, event, ack),
      ready: (info, known) => this.#stands(info, known),
      neverReady: () => {
        this.#connections.known = undefined;
      },
    };
    this.#connections = new Connections(instances, this.#owner, settings.known);
    // Some engines have no Symbol.asyncDispose: the member would be called "undefined".
    if (typeof Symbol.asyncDispose === "symbol") {
      Object.defineProperty(this, Symbol.asyncDispose, { value: () => this.close() });
    }
  }

  /** Loads the module and does the handshake. */
  async start(): Promise<void> {
    const missing = await this.#connections.load();
    const connection = missing ?? this.#connections.usable();
    if (connection instanceof Connection) await connection.ready;
    else await this.#unsentCall("initialize", undefined, connection.why, connection.thrown).result;
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
    return this.#connections.metrics(options);
  }

  exportState(): State {
    const { known } = this.#connections;
    return stateOf(this.#settings.core().url, known, known && this.capabilities);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #close(): Promise<void> {
    this.#owner.outcomes.stop();
    return this.#connections.close();
  }

  #request(wanted: Wanted): ToolCall {
    const { method } = wanted;
    const prepared = prepare(wanted, this.#settings);
    const fail = (why: Why, cause: unknown) => {
      this.#owner.uncounted.count(why);
      return this.#unsentCall(method, prepared.spec.tool, why, cause);
    };
    const signal = prepared.signals.find((each) => each.aborted);
    if (signal !== undefined && this.#closing === undefined) return fail(aborted, signal.reason);
    const connection = this.#usable();
    if (!(connection instanceof Connection)) return fail(connection.why, connection.thrown);
    const caller = new Promised();
    return caller.handle(connection.call(prepared, caller));
  }

  async #notify(method: string, params: Record<string, unknown> | undefined): Promise<void> {
    const checked = checkedMethod(method);
    const text = notificationParams(params);
    const connection = this.#usable();
    if (!(connection instanceof Connection))
      return this.#unsentCall(method, undefined, connection.why, connection.thrown).result;
    const caller = new Promised();
    connection.notify(checked, text, caller);
    await caller.result;
  }

  #usable(): Connection | NoConnection {
    return this.#closing === undefined ? this.#connections.usable() : { why: closedBefore };
  }

  #stands(info: SessionInfo, known: Known): void {
    this.#connections.known = known;
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
