// Why a call failed, what is known of its execution, and what happened to it. Times are epoch milliseconds; durations are
// milliseconds and end in `Ms`.

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
  /** The event's name. */
  type: "tool_call_failed";
  /** When it ended. */
  at: number;
  /** The id of the request, as the call has it. */
  requestId: string | number;
  /** The JSON-RPC method. */
  method: string;
  /** The tool's name, of a `tools/call`. */
  tool?: string;
  /** Why it ended. */
  reason: FailureReason;
  /** What is known of its execution. */
  outcome: Outcome;
  /** Making the call again can't execute it twice to harm: the outcome is not `unknown`, or the call is safe. */
  retrySafe: boolean;
  /** A sentence for a person. */
  message: string;
  /** The server's task, where the call became one. */
  taskId?: string;
  /** What happened to it. */
  diagnostics: CallDiagnostics;
}

/** A rung of the recovery ladder: resume the stream, replace the session, send the request again. */
export type Level = "L1" | "L2" | "reissue";

/** Why a stream was lost. */
export type DropCause = "end" | "network" | "idle" | "first_byte" | "status" | "session";

/** One attempt to recover. */
export interface Attempt {
  /** The rung. */
  level: Level;
  /** When it was made. */
  at: number;
  /** The wait before it. */
  waitMs: number;
  /** The event id that it resumed behind; a salted digest unless `diagnostics: "full"`. */
  cursor?: string;
  /** What came of it: `empty` opened and brought nothing new, `aborted` was given up for another. */
  result: "resumed" | "empty" | "refused" | "network_error" | "timeout" | "aborted";
  /** The HTTP status, where there was one. */
  status?: number;
  /** New events that it brought. */
  events: number;
}

/** What happened to a call, for a person who reads its failure. It holds no arguments, results or tokens. */
export interface CallDiagnostics {
  /** When the call was made. */
  startedAt: number;
  /** When it ended. */
  endedAt: number;
  /** When the last byte of a body came. */
  lastByteAt?: number;
  /** When the last comment came: the server's sign of life. */
  lastHeartbeatAt?: number;
  /** When the last progress notification came. */
  lastProgressAt?: number;
  /** This, `session` and the cursors are salted digests unless `diagnostics: "full"`. */
  lastEventId?: string;
  /** The last 64 events. */
  recent: { id?: string; at: number; bytes: number }[];
  /** Bytes of bodies. */
  bytes: number;
  /** Events with data that came. */
  events: number;
  /** Those dropped because they had come before. */
  duplicates: number;
  /** Gaps that were reported. */
  gaps: number;
  /** In which era the call was sent. */
  era: Era;
  /** The version of the protocol, as it was negotiated. */
  protocolVersion?: string;
  /** The session's id. */
  session?: string;
  /** The HTTP status that came last. */
  lastStatus?: number;
  /** The attempts to recover, the newest last. */
  attempts: Attempt[];
  /** What the pattern of the failure looks like, for a person: see the README. */
  hint?: "cors" | "connections" | "buffering" | "auth";
}

/** A protocol era: `initialize` and sessions, or a request on its own, or the old HTTP+SSE. */
export type Era = "legacy" | "modern" | "sse";
