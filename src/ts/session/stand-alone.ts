// A session of landfall's own.
import { ConfigError } from "../api/errors.js";
import type { Era } from "../api/failure.js";
import type { Metrics } from "../api/metrics.js";
import type { CallOptions, ConnectOptions, State, TaskOptions } from "../api/options.js";
import type { Implementation, ServerCapabilities, Tool } from "../api/schema.js";
import type { Connect, Session, ToolCall } from "../api/session.js";
import { observed, onAbort } from "../base/promise.js";
import { createClock } from "../base/runtime.js";
import { timers } from "../base/timers.js";
import { EventBatch } from "../call/event-batch.js";
import { emit } from "../call/events.js";
import { aborted, closedBefore, type UnsentCall, unsent, type Why } from "../call/failure.js";
import { Uncounted } from "../call/metrics.js";
import { OutcomeResolver } from "../call/outcome-resolver.js";
import { Promised } from "../call/record.js";
import type { Instances } from "../core/instance.js";
import {
  checkedMethod,
  notificationParams,
  type Prepared,
  prepare,
  taskWanted,
  toolParams,
  type Wanted,
} from "../options/call-spec.js";
import { readSettings, type Settings } from "../options/settings.js";
import { type SessionInfo, stateOf } from "../options/state.js";
import { Connection } from "./connection.js";
import { Connections, type NoConnection } from "./connections.js";
import type { Owner } from "./owner.js";
import { ServerRequests } from "./requests.js";
import { leftOutText, ToolHeaders } from "./tool-headers.js";
import { listAllTools, type Page } from "./tool-list.js";

/** A session of landfall's own. */
export class StandAloneSession implements Session {
  era: Era = "legacy";
  protocolVersion = "";
  declare sessionId?: string;
  declare serverInfo?: Implementation;
  declare instructions?: string;
  capabilities: ServerCapabilities = {};
  declare [Symbol.asyncDispose]: () => Promise<void>;
  readonly #settings: Settings;
  readonly #owner: Owner;
  readonly #connections: Connections;
  readonly #tools = new ToolHeaders();
  #closing: Promise<void> | undefined;
  #unsent = 0;

  constructor(instances: Instances, settings: Settings) {
    this.#settings = settings;
    const batch = new EventBatch(settings, "onEvents", () => settings.onEvents);
    this.#owner = {
      settings,
      clock: createClock(),
      outcomes: new OutcomeResolver(settings),
      uncounted: new Uncounted(),
      tools: this.#tools,
      requests: (answer) =>
        new ServerRequests(settings, answer, (message) =>
          this.#owner.emit({ type: "warning", code: "question_refused", message, at: this.#owner.clock() }),
        ),
      // Who listens hears of it by its event.
      heard: () => {},
      get hearsMessages() {
        return settings.onEvent !== undefined || settings.onEvents !== undefined || settings.log.isVerbose;
      },
      emit: (event, handling) => {
        emit(settings, event, handling);
        // A copy, as `onEvent` has one.
        if (settings.onEvents !== undefined) batch.add({ ...event }, handling);
      },
      ready: (info) => this.#stands(info),
      denied: (thrown) => settings.log.threw("authProvider", thrown),
    };
    this.#connections = new Connections(instances, this.#owner, settings.known);
    // Some engines have no Symbol.asyncDispose: the member would be called "undefined".
    if (typeof Symbol.asyncDispose === "symbol") {
      Object.defineProperty(this, Symbol.asyncDispose, { value: () => this.close() });
    }
  }

  /** Loads the module and does the handshake, unless the signal says that nobody wants it any more. */
  async start(): Promise<void> {
    const { signal } = this.#settings;
    const given = () => (signal?.aborted ? { why: aborted, thrown: signal.reason } : undefined);
    const missing = given() ?? (await this.#connections.load(signal)) ?? given();
    const connection = missing ?? this.#connections.usable();
    if (!(connection instanceof Connection)) {
      await this.#unsentCall("initialize", {}, connection.why, connection.thrown).handle.result;
      return;
    }
    const stop = signal && onAbort(signal, () => connection.giveUp(signal.reason));
    await connection.ready.finally(stop);
  }

  callTool(name: string, args: Record<string, unknown> = {}, options?: CallOptions): ToolCall {
    const text = toolParams(name, args);
    const params = { name, arguments: args };
    return this.#request({ method: "tools/call", params, text, options, isPage: false });
  }

  task(taskId: string, options?: TaskOptions): ToolCall {
    const wanted = taskWanted(taskId, options);
    if (this.#settings.core().tasks !== true)
      throw new ConfigError("tasks", "tasks is false: no task can be taken up");
    return this.#request(wanted);
  }

  request(method: string, params: Record<string, unknown> = {}, options?: CallOptions): ToolCall {
    return this.#request({ method, params, options, isPage: false });
  }

  notify(method: string, params?: Record<string, unknown>): Promise<void> {
    return observed(this.#notify(method, params));
  }

  listTools(options?: CallOptions): Promise<Tool[]> {
    const method = "tools/list";
    return observed(
      listAllTools({
        page: (params) => this.#made({ method, params, options, isPage: true }),
        broken: (why) => this.#unsentCall(method, {}, why).handle,
        clock: this.#owner.clock,
        mostBytes: this.#settings.mostBodyBytes,
      }),
    );
  }

  metrics(options?: { reset?: boolean }): Metrics {
    return this.#connections.metrics(options);
  }

  exportState(): State {
    return stateOf(this.#settings.core().url, this.#connections.facts);
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
    return this.#made(wanted).call;
  }

  #made(wanted: Wanted): Page {
    const { method } = wanted;
    const prepared = this.#prepared(wanted);
    const fail = (why: Why, cause: unknown) => {
      const { handle, event } = this.#unsentCall(method, prepared.spec, why, cause);
      this.#owner.uncounted.count(event);
      return { call: handle };
    };
    const signal = prepared.signals.find((each) => each.aborted);
    if (signal !== undefined && this.#closing === undefined) return fail(aborted, signal.reason);
    const connection = this.#usable();
    if (!(connection instanceof Connection)) return fail(connection.why, connection.thrown);
    const caller = new Promised();
    const record = connection.call(prepared, caller);
    return { call: caller.handle(record), times: record.times };
  }

  #prepared(wanted: Wanted): Prepared {
    const { method, params } = wanted;
    const prepared = prepare(wanted, this.#settings);
    const declaredParams = method === "tools/call" ? this.#tools.of(params) : {};
    if (Object.keys(declaredParams).length > 0) prepared.spec.declaredParams = declaredParams;
    if (method === "tools/list")
      prepared.read = (result) => this.#listed(result, params.cursor === undefined);
    return prepared;
  }

  /** What of a page of tools may be called: a modern request of one whose declarations are not valid would be refused. */
  #listed(page: unknown, isFirstPage: boolean): unknown {
    if (this.era !== "modern") return page;
    const { result, leftOut } = this.#tools.learn(page, isFirstPage);
    for (const each of leftOut) {
      const message = leftOutText(each, this.#settings.serverText);
      this.#owner.emit({ type: "warning", code: "invalid_x_mcp_header", message, at: this.#owner.clock() });
    }
    return result;
  }

  async #notify(method: string, params: Record<string, unknown> | undefined): Promise<void> {
    const checked = checkedMethod(method);
    const text = notificationParams(params);
    const connection = this.#usable();
    if (!(connection instanceof Connection))
      return this.#unsentCall(method, {}, connection.why, connection.thrown).handle.result;
    const caller = new Promised();
    connection.notify(checked, text, caller);
    await caller.result;
  }

  #usable(): Connection | NoConnection {
    return this.#closing === undefined ? this.#connections.usable() : { why: closedBefore };
  }

  #stands(info: SessionInfo): void {
    // Not all servers give these, and a new handshake may bring fewer.
    delete this.sessionId;
    delete this.serverInfo;
    delete this.instructions;
    Object.assign(this, info);
  }

  #unsentCall(method: string, spec: UnsentCall["spec"], why: Why, cause?: unknown) {
    this.#unsent += 1;
    const { endpoint } = this.#settings;
    const call = { id: `unsent-${this.#unsent}`, method, spec, at: this.#owner.clock(), endpoint };
    const failed = unsent(call, why, cause);
    // After close() there is no callback.
    if (this.#closing === undefined) timers.queueMicrotask(() => this.#owner.emit(failed.event));
    return failed;
  }
}

/** The `connect` of an entry point, whose instances these are. Nothing is loaded before the first call. */
export function connector(instances: Instances): Connect {
  return (url, options) => observed(open(instances, url, options));
}

async function open(instances: Instances, url: string | URL, options?: ConnectOptions): Promise<Session> {
  const session = new StandAloneSession(instances, readSettings(url, options));
  await session.start();
  return session;
}
