/// <reference lib="esnext.disposable" preserve="true" />
// A session with a server and its calls.
import type { CallEvent } from "./events.js";
import type { Era } from "./failure.js";
import type { Metrics } from "./metrics.js";
import type { CallOptions, ConnectOptions, State, TaskOptions } from "./options.js";
import type {
  CallToolResult,
  Implementation,
  RequestArguments,
  RequestMap,
  ServerCapabilities,
  Tool,
} from "./schema.js";

/**
 * A call that was made: a promise of its result, and an iterable of its events. It is under way at once, awaited or
 * iterated or not.
 *
 * Its events are one queue: several loops share it, each event going to one of them, and the outcome to all, also to a
 * loop over a call that has ended long ago. Before a loop begins, and after the last one was left by `break`, the last 1 000 events are kept and older ones dropped, which a `warning` event reports
 * to the next loop; the outcome is always kept. A message or progress given to a loop is handled when the loop asks for
 * the next event or is left; what nobody listens to is handled when it comes. Leaving a loop does not cancel the call.
 * The iteration never throws. Where more than `limits.maxPending` wait for a loop nothing is read until it goes on: a loop
 * that waits for the result of its own call waits until `deadlineMs`.
 */
// biome-ignore lint/suspicious/noExplicitAny: only the caller knows the shape of a result
export interface ToolCall<Result = any> extends AsyncIterable<CallEvent<Result>> {
  /**
   * Its events in arrays, for whoever takes thousands: each has all that came since the last one, at least one event. They
   * are taken out of the same queue, under the same rules; those of an array are handled when the loop asks for the next
   * one or is left. The outcome is the last element of the last array.
   */
  batches(): AsyncIterable<CallEvent<Result>[]>;
  /** The id of the request; it stays the same whatever is done to carry the call through. */
  readonly id: string;
  /**
   * The server's result, which the call itself is a promise of, too; `isError: true` is one. Rejects with
   * {@link ServerError} for a JSON-RPC error, with {@link ToolCallFailedError} where there was no answer. Neither is ever
   * an unhandled rejection while it is left alone.
   */
  readonly result: Promise<Result>;
  /** As of `result`. */
  readonly then: Promise<Result>["then"];
  /** As of `result`. */
  readonly catch: Promise<Result>["catch"];
  /** As of `result`. */
  readonly finally: Promise<Result>["finally"];
  /** What every promise has. */
  readonly [Symbol.toStringTag]: string;
  /** Ends the call as `cancelled` and tells the server. Does nothing once the call has ended. */
  cancel(): void;
}

/** A session with a server. */
export interface Session {
  /**
   * Calls a tool. `Structured` is the caller's word on its structured content. Throws {@link ConfigError} for arguments that JSON can't carry (a cycle, a BigInt) and for options
   * that can't be honoured, also where `replay` or `callKey` fail; then no call was made.
   */
  callTool<Structured = Record<string, unknown>>(
    name: string,
    args?: Record<string, unknown>,
    options?: CallOptions,
  ): ToolCall<CallToolResult<Structured>>;
  /**
   * Takes up a task of the server's, as a failure or a `task` event of an earlier call named it, also one of another
   * session: a call that has the result of the task. The server is asked for it at once, and until it is done. Throws
   * {@link ConfigError} for an id that is none, and where `tasks` is `false`.
   */
  task<Structured = Record<string, unknown>>(
    taskId: string,
    options?: TaskOptions,
  ): ToolCall<CallToolResult<Structured>>;
  /** Sends a request of the protocol's; `params._meta` goes with it. Throws as `callTool` does. */
  request<Method extends keyof RequestMap>(
    method: Method,
    ...rest: RequestArguments<Method, CallOptions>
  ): ToolCall<RequestMap[Method]["result"]>;
  /** Sends any other request but `initialize`. `Result` is the caller's word on its result, which nobody checks. */
  request<Result = unknown, Method extends string = string>(
    method: Method & (Method extends keyof RequestMap ? never : unknown),
    params?: Record<string, unknown>,
    options?: CallOptions,
  ): ToolCall<Result>;
  /** Sends a notification. Resolves when the server took it, rejects with {@link ToolCallFailedError}. */
  notify(method: string, params?: Record<string, unknown>): Promise<void>;
  /** The tools of the server, all pages. Rejects as the result of a call does. */
  listTools(options?: CallOptions): Promise<Tool[]>;
  /**
   * What was counted since the session was opened, or since the last `reset`. What an instance of the module had counted
   * goes with it when it fails; its calls then count as failed. Stays readable after `close()`.
   */
  metrics(options?: { reset?: boolean }): Metrics;
  /**
   * What another isolate needs to go on with the session, by the option `state`: plain data that JSON carries. The cursor
   * of a call is not in it: that is what `onresumptiontoken` tells. A session that is to be taken up must not be ended:
   * `terminateSessionOnClose: false`. Readable at any time, also after `close()`.
   */
  exportState(): State;
  /**
   * Ends the session: pending calls end as `closed`, the server is told (`terminateSessionOnClose`), every stream is
   * aborted. Afterwards there is no request, timer or callback. May be called again; never rejects.
   */
  close(): Promise<void>;
  /** `close()`, for `await using`. It is there where the runtime has `Symbol.asyncDispose`. */
  [Symbol.asyncDispose](): Promise<void>;
  /** The era in which it speaks with the server. */
  readonly era: Era;
  /** The version of the protocol, as it was negotiated. */
  readonly protocolVersion: string;
  /** `Mcp-Session-Id`; absent where the server gives none. Another one once the session was replaced. */
  readonly sessionId?: string;
  /** What the server says it is. */
  readonly serverInfo?: Implementation;
  /** What the server says of how it is to be used, for a model. */
  readonly instructions?: string;
  /** What the server says it can do. */
  readonly capabilities: ServerCapabilities;
}

/**
 * Opens a session with an MCP server.
 *
 * Rejects with {@link ToolCallFailedError} (method `initialize`) where the server can't be reached or refuses, and with
 * {@link ConfigError} for options that contradict each other or are not known.
 */
export type Connect = (url: string | URL, options?: ConnectOptions) => Promise<Session>;
