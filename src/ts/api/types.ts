/// <reference lib="esnext.disposable" preserve="true" />

import type { CallOptions, ConnectOptions, State } from "./options.js";

// The public data types. Times in events and diagnostics are epoch milliseconds; durations are milliseconds and
// end in `Ms`.

/** A JSON-RPC notification as it came from the server. */
export interface JsonRpcNotification {
  jsonrpc: "2.0";
  method: string;
  params?: Record<string, unknown>;
}

/** The `error` of a JSON-RPC response. */
export interface JsonRpcError {
  code: number;
  message: string;
  data?: unknown;
}

/** Why a call ended without an answer: the first cause that made it unrecoverable. */
export type FailureReason =
  | "connect_timeout"
  | "first_byte_timeout"
  | "idle_timeout"
  | "call_timeout"
  | "recovery_exhausted"
  | "deadline_exceeded"
  | "retry_exceeds_budget"
  | "network_error"
  | "stream_lost"
  | "resume_rejected"
  | "session_lost"
  | "gap"
  | "unauthorized"
  | "forbidden"
  | "http_error"
  | "redirected"
  | "unexpected_content"
  | "unsupported_version"
  | "malformed_response"
  | "message_too_large"
  | "protocol_error"
  | "queue_full"
  | "task_lost"
  | "task_cancelled"
  | "interrupted"
  | "cancelled"
  | "closed"
  | "internal_error";

/**
 * What is known of the execution of a call that ended without an answer: the request never left, the server refused
 * it before executing it, or it may have been executed.
 */
export type Outcome = "not_sent" | "rejected" | "unknown";

/** A call that ended without an answer. */
export interface ToolCallFailed {
  type: "tool_call_failed";
  at: number;
  requestId: string | number;
  method: string;
  tool?: string;
  reason: FailureReason;
  outcome: Outcome;
  /** Making the call again can't execute it twice to harm: the outcome is not `unknown`, or the call is safe. */
  retrySafe: boolean;
  /** A sentence for a person. */
  message: string;
  taskId?: string;
  diagnostics: CallDiagnostics;
}

/** A rung of the recovery ladder: resume the stream, replace the session, send the request again. */
export type Level = "L1" | "L2" | "reissue";

/** Why a stream was lost. */
export type DropCause = "end" | "network" | "idle" | "first_byte" | "status" | "session";

/** One attempt to recover. */
export interface Attempt {
  level: Level;
  at: number;
  waitMs: number;
  cursor?: string;
  result: "resumed" | "empty" | "refused" | "network_error" | "timeout" | "aborted";
  status?: number;
  events: number;
}

/** What happened to a call, for a person who reads its failure. It holds no arguments, results or tokens. */
export interface CallDiagnostics {
  startedAt: number;
  endedAt: number;
  lastByteAt?: number;
  lastHeartbeatAt?: number;
  lastProgressAt?: number;
  /** This, `session` and the cursors are salted digests unless `diagnostics: "full"`. */
  lastEventId?: string;
  /** The last 64 events. */
  recent: { id?: string; at: number; bytes: number }[];
  bytes: number;
  events: number;
  duplicates: number;
  gaps: number;
  era: Era;
  protocolVersion?: string;
  session?: string;
  lastStatus?: number;
  attempts: Attempt[];
  hint?: "cors" | "connections" | "buffering" | "auth";
}

/**
 * What happens to a call. A call gives any number of events, then exactly one `result` or `tool_call_failed`.
 * A JSON-RPC error of the server is an answer: `{ type: "result", error }`.
 */
export type CallEvent =
  | ({ at: number; requestId: string | number } & (
      | { type: "queued" }
      | { type: "session_replaced"; capabilitiesChanged: boolean }
      | { type: "auth_required" }
      | { type: "sent"; wireId: string | number; reissue: boolean }
      | { type: "open"; status: number }
      | { type: "progress"; progress: number; total?: number; message?: string }
      | { type: "message"; message: JsonRpcNotification }
      | { type: "input_required" | "input_answered"; method: string }
      | { type: "suspect"; silentMs: number }
      | { type: "polling"; waitMs: number }
      | { type: "disconnected"; cause: DropCause; cursor?: string }
      | {
          type: "reconnecting";
          level: Level;
          /** From 1. */
          attempt: number;
          waitMs: number;
          nextAt: number;
          giveUpAt: number;
          cursor?: string;
        }
      | { type: "resumed"; level: Level; replayed: number; duplicates: number }
      | { type: "reissued"; why: DropCause | "gap"; wireId: string }
      | {
          type: "gap";
          kind: "missing" | "progress" | "order";
          certain: boolean;
          before?: string;
          after?: string;
        }
      | { type: "event_skipped"; eventId?: string }
      | { type: "task"; taskId: string; status: string }
      | { type: "warning"; code: string; message: string }
      | { type: "result"; result: unknown }
      | { type: "result"; error: JsonRpcError }
    ))
  | ToolCallFailed;

/** What happens to the session, and messages of the server that belong to no call. */
export type SessionEvent =
  | {
      type: "state";
      at: number;
      state: "connecting" | "ready" | "recovering" | "offline" | "auth_required" | "closed";
    }
  | { type: "listen"; at: number; state: "open" | "lost" | "unsupported" }
  | { type: "message"; at: number; message: JsonRpcNotification };

/** A protocol era: `initialize` and sessions, or a request on its own, or the old HTTP+SSE. */
export type Era = "legacy" | "modern" | "sse";

/**
 * A call that was made. It is under way at once, iterated or not.
 *
 * Its events are one queue: several loops share it, each event going to one of them, and the outcome to all that wait for
 * it. Before a loop begins, and after the last one was left by `break`, the last 1 000 events are kept and older ones dropped, which a `warning` event reports
 * to the next loop; the outcome is always kept. A message or progress given to a loop is handled when the loop asks for
 * the next event or is left; what nobody listens to is handled when it comes. Leaving a loop does not cancel the call.
 * The iteration never throws.
 */
export interface ToolCall extends AsyncIterable<CallEvent> {
  /** The id of the request; it stays the same whatever is done to carry the call through. */
  readonly id: string;
  /**
   * The server's result; `isError: true` is one. Rejects with {@link ServerError} for a JSON-RPC error, with
   * {@link ToolCallFailedError} where there was no answer. Left alone it never is an unhandled rejection.
   */
  // biome-ignore lint/suspicious/noExplicitAny: only the caller knows the shape of a result
  readonly result: Promise<any>;
  /** Ends the call as `cancelled` and tells the server. Does nothing once the call has ended. */
  cancel(): void;
}

/** A session with a server. */
export interface Session {
  /**
   * Calls a tool. Throws {@link ConfigError} for arguments that JSON can't carry (a cycle, a BigInt) and for options
   * that can't be honoured, also where `replay` or `callKey` fail; then no call was made.
   */
  callTool(name: string, args?: Record<string, unknown>, options?: CallOptions): ToolCall;
  /** Sends any request but `initialize`; `params._meta` goes with it. Throws as `callTool` does. */
  request(method: string, params?: Record<string, unknown>, options?: CallOptions): ToolCall;
  /** Sends a notification. Resolves when the server took it, rejects with {@link ToolCallFailedError}. */
  notify(method: string, params?: Record<string, unknown>): Promise<void>;
  /** The tools of the server, all pages. Rejects as the result of a call does. */
  listTools(options?: CallOptions): Promise<{ name: string; [key: string]: unknown }[]>;
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
  /** `close()`, where the runtime has `Symbol.asyncDispose`. */
  [Symbol.asyncDispose]?(): Promise<void>;
  readonly era: Era;
  readonly protocolVersion: string;
  readonly sessionId?: string;
  readonly serverInfo?: { name: string; version: string };
  readonly capabilities: Record<string, unknown>;
}

/** Numbers of one kind, in buckets: `p50`, `p90` and `p99` are at most 19 % too high, the others are exact. */
export interface Histogram {
  count: number;
  sum: number;
  p50: number;
  p90: number;
  p99: number;
  max: number;
}

/** Counters of a session. */
export interface Metrics {
  /** Requests that were made. */
  calls: number;
  /** Those that ended with an answer, a JSON-RPC error too. */
  answered: number;
  /** Those that failed after at least one attempt to recover: the number to watch. */
  exhausted: number;
  /** Those that failed, by reason. */
  failed: Partial<Record<FailureReason, number>>;
  /** Those that failed, by what is known of their execution. */
  outcomes: Record<Outcome, number>;
  /** Streams that were lost, by cause. */
  drops: Record<DropCause, number>;
  /** Clean closes that moved the cursor and were waited out: the server's way of polling, no drops. */
  polls: number;
  /** Times the server did not know the session. */
  sessionMismatches: number;
  /** Events with data that came. */
  events: number;
  /** Those dropped because they had come before. */
  duplicates: number;
  /** Gaps that were reported. */
  gaps: number;
  /** Events whose handler failed for good: again when it came again, or the call had ended. */
  skipped: number;
  /** Requests sent again. */
  reissues: number;
  /** Bytes of bodies. */
  bytes: number;
  /** Resumes of streams: those that brought something new, those that opened and did not, those refused, by status. */
  resumes: { tried: number; hit: number; empty: number; refused: Record<string, number> };
  /** Recovery by level; `won` brought data. */
  levels: Record<"L1" | "L2", { tried: number; won: number }>;
  /** Questions whether the session lives. */
  probes: { asked: number; answered: number; refused: number; timedOut: number };
  /**
   * In milliseconds: a call to its outcome, a stream's headers to its end, a drop to the next new event, a POST to its
   * headers; `replayed` is new and repeated events at the start of a resume.
   */
  histograms: Record<"callMs" | "streamMs" | "replayed" | "recoverMs" | "firstByteMs", Histogram>;
}

/**
 * Opens a session with an MCP server.
 *
 * Rejects with {@link ToolCallFailedError} (method `initialize`) where the server can't be reached or refuses, and with
 * {@link ConfigError} for options that contradict each other or are not known.
 */
export type Connect = (url: string | URL, options?: ConnectOptions) => Promise<Session>;
