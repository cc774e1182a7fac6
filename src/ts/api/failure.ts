// Why a call failed, what is known of its execution, and what happened to it. Instants are epoch milliseconds, durations
// are milliseconds and end in `Ms`; both are whole numbers.

/** Why a call ended without an answer: the first cause that made it unrecoverable. */
export type FailureReason =
  /** The handshake was not done within `handshakeMs`, or the credentials or the module were not there. */
  | "connect_timeout"
  /** No response headers within `firstByteMs`. */
  | "first_byte_timeout"
  /** Its stream fell silent, and could not be brought back until `recoveryMs`. */
  | "idle_timeout"
  /** `callMs` without progress or message. */
  | "call_timeout"
  /** Resumes brought nothing new until `recoveryMs`, or it may not be sent again any more. */
  | "recovery_exhausted"
  /** `deadlineMs` passed, and nothing more telling was pending. */
  | "deadline_exceeded"
  /** The server's `retry` or `Retry-After` passes the clock that bounds it. */
  | "retry_exceeds_budget"
  /** `fetch` failed before headers, and the request may not be sent again. */
  | "network_error"
  /** Its stream ended without a cursor to resume it at, and the request may not be sent again. */
  | "stream_lost"
  /** The server refused its cursor for good while the session lives. */
  | "resume_rejected"
  /** The server no longer knows the session, and the request may not be sent again. */
  | "session_lost"
  /** Events are missing, and `onGap` says not to go on. */
  | "gap"
  /** 401, whatever credentials there were. */
  | "unauthorized"
  /** 403. */
  | "forbidden"
  /** Another final status. */
  | "http_error"
  /** A redirect out of the origin, or one that changes the method. */
  | "redirected"
  /** 2xx of another type, a 202 to a request, an empty array. */
  | "unexpected_content"
  /** No version of the protocol that both speak. */
  | "unsupported_version"
  /** The answer is no JSON, or no response; of a stream that can be resumed, twice. */
  | "malformed_response"
  /** A limit, which the message names. */
  | "message_too_large"
  /** The server breaks the protocol, refused the handshake, or wants input that it was not given. */
  | "protocol_error"
  /** More calls wait than `limits.maxQueued`. */
  | "queue_full"
  /** The server no longer knows the task, or nothing answers for it and its time is over. */
  | "task_lost"
  /** The server cancelled the task. */
  | "task_cancelled"
  /** The page or the isolate went away, and the call can't go on. */
  | "interrupted"
  /** The caller did not want it any more. */
  | "cancelled"
  /** The session was closed. */
  | "closed"
  /** Landfall itself failed. */
  | "internal_error";

/** What is known of the execution of a call that ended without an answer. */
export type Outcome =
  /** The request never left. */
  | "not_sent"
  /** The server refused it before executing it. */
  | "rejected"
  /** It may have been executed. */
  | "unknown";

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
  /**
   * A sentence for a person, or a model: whose failure it is (method, tool, endpoint), `reason` and `outcome`, what
   * happened, and whether the tool may have run.
   */
  message: string;
  /**
   * The server's task, where the call became one: what {@link Session.task} takes. Unless the call was cancelled, it is
   * left running.
   */
  taskId?: string;
  /** What happened to it. */
  diagnostics: CallDiagnostics;
}

/** A rung of the recovery ladder. */
export type Level =
  /** Resume the stream. */
  | "L1"
  /** Replace the session. */
  | "L2"
  /** Send the request again. */
  | "reissue";

/** Why a stream was lost. */
export type DropCause =
  /** It ended. */
  | "end"
  /** The network failed. */
  | "network"
  /** It was silent for `idleMs`. */
  | "idle"
  /** No headers within `firstByteMs`. */
  | "first_byte"
  /** The server answered with another status than that of a stream. */
  | "status"
  /** The session is dead. */
  | "session";

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
  /**
   * What came of it: it brought data; it opened and brought nothing new; the server refused it; it got no HTTP answer, or no
   * headers in time; it was given up.
   */
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
  /** The last 64 events: the id of each, when it came, and the bytes of its data. */
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
