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

/** A protocol era: `initialize` and sessions, or a request on its own, or the old HTTP+SSE. */
export type Era = "legacy" | "modern" | "sse";
