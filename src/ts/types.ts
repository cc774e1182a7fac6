/// <reference lib="esnext.disposable" preserve="true" />

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
 * The clocks, in milliseconds. `connectMs < idleMs` and `callMs <= recoveryMs < deadlineMs` must hold among the values
 * given; values not given follow those that are. `Infinity`, NaN, 0 and negative values are refused.
 */
export interface Timeouts {
  /** `initialize`, and the longest wait for the module and for `headers()`. Default 30 000. For a session, not a call. */
  handshakeMs?: number;
  /** Request to headers of a resume. Default 5 000. */
  connectMs?: number;
  /** Request to headers of a call's POST. Default: `callMs`. */
  firstByteMs?: number;
  /** No byte on a body being read; any byte re-arms it. Default 45 000. */
  idleMs?: number;
  /** A call without progress or message while an exchange of it is open. Default 120 000. A number, or of the tool's name. */
  callMs?: number | ((tool: string) => number);
  /** A sent call without an open exchange. Default 120 000, or `callMs` if larger. */
  recoveryMs?: number;
  /** From the caller's call to its outcome; nothing extends it. Default 600 000, or `callMs + recoveryMs` if larger. */
  deadlineMs?: number;
  /** One event handler. Default 30 000. For a session, not a call. */
  handlerMs?: number;
}

/** The signature of `fetch` as it is used here. */
export type FetchLike = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** What `fetch` takes as headers. Of that name, only browsers' types have a global. */
type HeadersInit = NonNullable<RequestInit["headers"]>;

/** Options of {@link Connect}. One that this version does not know is refused with a {@link ConfigError}. */
export interface ConnectOptions {
  timeouts?: Timeouts;
  /** Waits between attempts to recover: from `baseMs` (500), doubling, up to `maxMs` (4 000). */
  retry?: { baseMs?: number; maxMs?: number };
  /** `legacy` and `resumable` start with `initialize`, and so does `auto` (the default) in this version. */
  era?: "auto" | "legacy" | "resumable";
  /** The protocol versions to accept, the preferred one first. */
  protocolVersions?: string[];
  /** Bounds on what is open, waits or is held at once. */
  limits?: {
    /** Open bodies, one of them for control traffic. Default 32; in browsers 5 where a server speaks HTTP/1.1. */
    maxConcurrent?: number;
    /** Calls that wait for one of these. Default 1 000; beyond it a call fails as `queue_full`. */
    maxQueued?: number;
    /** Bytes of one event of a stream. Default 16 MiB. */
    maxEventBytes?: number;
    /** Bytes of a body that is no stream. Default 16 MiB. */
    maxBodyBytes?: number;
    /** Bytes of an event id; a stream with a longer one can't be resumed. Default 1 024. */
    maxIdBytes?: number;
  };
  /** Used instead of `globalThis.fetch`, and like it called without a receiver. */
  fetch?: FetchLike;
  /** Added to every request; `method`, `body` and `signal` are landfall's. */
  requestInit?: RequestInit;
  /**
   * Added to every request; a function is asked for each one. The names `accept`, `content-type`, `last-event-id` and
   * `mcp-*` are landfall's: given here they are left out, with a warning to the logger.
   */
  headers?: HeadersInit | (() => HeadersInit | Promise<HeadersInit>);
  /** Send the DELETE that ends the server's session when closing. Default true. */
  terminateSessionOnClose?: boolean;
  /** `full` shows session ids and cursors in diagnostics and errors; else they are digests. */
  diagnostics?: "redacted" | "full";
  /** Told what happens, never with arguments, results or tokens. */
  logger?: {
    debug?(m: string, data?: object): void;
    info?(m: string, data?: object): void;
    warn?(m: string, data?: object): void;
    error?(m: string, data?: object): void;
  };
  /** Who this client is, for `initialize`. Default: landfall and its version. */
  clientInfo?: { name: string; version: string };
  /** The client capabilities, for `initialize`. Default none; what `onRequest` can answer belongs here. */
  capabilities?: Record<string, unknown>;
  /**
   * Answers a request of the server's (sampling, elicitation, roots). What it gives is the result; what it throws
   * becomes a JSON-RPC error -32603 with that message. `signal` is aborted when the server cancels the request, and
   * when the session ends. Without it the server is told -32601.
   */
  onRequest?: (request: { method: string; params?: unknown; signal: AbortSignal }) => Promise<unknown>;
  /** Given every event of every call and of the session, in order. What it throws is logged and harms nothing. */
  onEvent?: (event: CallEvent | SessionEvent) => void | Promise<void>;
}

/** Options of one call. */
export interface CallOptions {
  /** The clocks of this call; `handshakeMs` and `handlerMs` are the session's. */
  timeouts?: Timeouts;
  /** The caller knows that executing this call twice does no harm. */
  idempotent?: boolean;
  /** Cancels the call. */
  signal?: AbortSignal;
  /** Added to the requests of this call, above the session's own headers. */
  headers?: Record<string, string>;
}

/**
 * A call that was made. It is under way at once, iterated or not.
 *
 * Its events are one queue: several loops share it, each event going to one of them. Before a loop begins, and after
 * it was left by `break`, the last 1 000 events are kept and older ones dropped, which a `warning` event reports to the
 * next loop; the outcome is always kept. Leaving a loop does not cancel the call. The iteration never throws.
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
   * that can't be honoured; then no call was made.
   */
  callTool(name: string, args?: Record<string, unknown>, options?: CallOptions): ToolCall;
  /** Sends any request but `initialize`; `params._meta` goes with it. Throws as `callTool` does. */
  request(method: string, params?: Record<string, unknown>, options?: CallOptions): ToolCall;
  /** Sends a notification. Resolves when the server took it, rejects with {@link ToolCallFailedError}. */
  notify(method: string, params?: Record<string, unknown>): Promise<void>;
  /** The tools of the server, all pages. Rejects as the result of a call does. */
  listTools(options?: CallOptions): Promise<{ name: string; [key: string]: unknown }[]>;
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

/**
 * Opens a session with an MCP server.
 *
 * Rejects with {@link ToolCallFailedError} (method `initialize`) where the server can't be reached or refuses, and with
 * {@link ConfigError} for options that contradict each other or are not known.
 */
export type Connect = (url: string | URL, options?: ConnectOptions) => Promise<Session>;
