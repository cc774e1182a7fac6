// What is told of calls and sessions while they run. Instants are epoch milliseconds, durations are milliseconds and end
// in `Ms`; both are whole numbers.
import type { DropCause, Level, ToolCallFailed } from "./failure.js";

/** A JSON-RPC notification as it came from the server. */
export interface JsonRpcNotification {
  /** The version of JSON-RPC. */
  jsonrpc: "2.0";
  /** As in `notifications/message`. */
  method: string;
  /** What it tells. */
  params?: Record<string, unknown>;
}

/** The `error` of a JSON-RPC response. */
export interface JsonRpcError {
  /** As in JSON-RPC: -32601 for a method that the server does not know. */
  code: number;
  /** A sentence for a person, in the server's words. */
  message: string;
  /** What the server added. */
  data?: unknown;
}

/** What is odd, where nothing is done about it. */
export type WarningCode =
  /** An answer to a question of the server's was not taken by it. */
  | "answer_refused"
  /** Nobody iterated over the call: its older events were dropped. */
  | "events_dropped"
  /** A tool is left out of the list, for its `x-mcp-header` is not valid. */
  | "invalid_x_mcp_header"
  /** The stream for what belongs to no call is not opened again. */
  | "listen_given_up"
  /** An event whose data is no JSON. */
  | "malformed_event"
  /** A response came in an event that has another name than `message`, and counts. */
  | "odd_event_name"
  /** A response whose id is not quite the request's was taken as its answer. */
  | "odd_response_id"
  /** The server asked for what the host has no `onRequest` for: it was refused. */
  | "question_refused"
  /** The server asks more at once than `limits.maxQuestions`: it was refused. */
  | "too_many_questions"
  /** A response that answers no request of ours was dropped. */
  | "unmatched_response";

/** Events are missing, or may be. */
export interface Gap {
  /** How that was seen: ids are missing, or the application says so; progress leapt; repeats came in another order. */
  kind: "missing" | "progress" | "order";
  /** It is certain; else it is likely. */
  certain: boolean;
  /** The id before it; a salted digest unless `diagnostics: "full"`. */
  before?: string;
  /** The id behind it; the same. */
  after?: string;
}

/** What happens to a call on its way, with `at` and `requestId` beside it. `Result` is what its answer holds. */
export type CallHappening<Result = unknown> =
  /** It waits for the handshake, or for a free connection. */
  | { type: "queued" }
  /** The server had forgotten the session, and there is another. */
  | {
      type: "session_replaced";
      /** The server can do other things than before. */
      capabilitiesChanged: boolean;
    }
  /** It waits for credentials. */
  | { type: "auth_required" }
  /** Its request was handed to `fetch`. */
  | {
      type: "sent";
      /** The id of the request on the wire. */
      wireId: string | number;
      /** It was sent before. */
      reissue: boolean;
      /** The tool's name, of a `tools/call`. */
      tool?: string;
    }
  /** Headers came: of its request, or of a resume of its stream. */
  | {
      type: "open";
      /** The HTTP status. */
      status: number;
    }
  /** The server tells how far it is. */
  | {
      type: "progress";
      /** So far; it rises. */
      progress: number;
      /** As far as it will go, where that is known. */
      total?: number;
      /** A sentence for a person, in the server's words. */
      message?: string;
    }
  /** Another notification of the server's. */
  | {
      type: "message";
      /** As it came. */
      message: JsonRpcNotification;
    }
  /** The server asks something, and waits for the answer; or the answer is there. */
  | {
      type: "input_required" | "input_answered";
      /** What it asks, as in `elicitation/create`. */
      method: string;
    }
  /** Its stream is silent: it is resumed beside that, or the server asked. */
  | {
      type: "suspect";
      /** For so long. */
      silentMs: number;
    }
  /** The server closed the stream politely and will go on: no failure, no outage. */
  | {
      type: "polling";
      /** The wait until the stream is resumed. */
      waitMs: number;
    }
  /** Its stream was lost. */
  | {
      type: "disconnected";
      /** How. */
      cause: DropCause;
      /** Where it can be resumed; a salted digest unless `diagnostics: "full"`. Absent where it can't. */
      cursor?: string;
    }
  /** An attempt to recover is planned. */
  | {
      type: "reconnecting";
      /** The rung. */
      level: Level;
      /** Attempts in a row that brought nothing new, this one among them: from 1. */
      attempt: number;
      /** The wait before it. */
      waitMs: number;
      /** When it will be made. */
      nextAt: number;
      /** When the call is given up, should nothing new come until then. */
      giveUpAt: number;
      /** Where the stream is resumed; a salted digest unless `diagnostics: "full"`. */
      cursor?: string;
    }
  /** A resume brought something, and what it brought comes next; or it ended without (`replayed: 0`). */
  | {
      type: "resumed";
      /** The rung. */
      level: Level;
      /** Events that came with its first bytes, repeats among them. */
      replayed: number;
      /** Those of them that had come before, and were dropped. */
      duplicates: number;
    }
  /** The request was sent again. */
  | {
      type: "reissued";
      /** Why: its stream was lost, or events are missing. */
      why: DropCause | "gap";
      /** Its new id on the wire. */
      wireId: string | number;
    }
  /** Events are missing; `onGap` says what is done about it. */
  | ({ type: "gap" } & Gap)
  /** The handler of an event failed for good: that event was not handled. */
  | {
      type: "event_skipped";
      /** Its id; a salted digest unless `diagnostics: "full"`. */
      eventId?: string;
    }
  /** The call became a task of the server's, or that has another status, or says something else of it. */
  | {
      type: "task";
      /** The task: what {@link Session.task} takes. */
      taskId: string;
      /** Its status, in the server's word. */
      status: string;
      /** A sentence for a person, in the server's words. */
      statusMessage?: string;
    }
  /** Something is odd, and the call goes on. */
  | {
      type: "warning";
      /** What, for a program. */
      code: WarningCode;
      /** What, for a person. */
      message: string;
    }
  /** The server's answer: the end. */
  | {
      type: "result";
      /** What it says. */
      result: Result;
    }
  /** The server's answer is an error of JSON-RPC: the end. */
  | {
      type: "result";
      /** What it says. */
      error: JsonRpcError;
    };

/**
 * What happens to a call. A call gives any number of events, then exactly one `result` or `tool_call_failed`.
 * A JSON-RPC error of the server is an answer: `{ type: "result", error }`.
 */
export type CallEvent<Result = unknown> =
  | ({
      /** When it happened. */
      at: number;
      /** The id of the request, as the call has it. */
      requestId: string | number;
    } & CallHappening<Result>)
  | ToolCallFailed;

/** The state of a session. */
export type SessionState =
  /** The handshake is under way. */
  | "connecting"
  /** Calls are sent. */
  | "ready"
  /** The server had forgotten the session, and another is begun; or an attempt to recover got no HTTP answer. */
  | "recovering"
  /** Two attempts in a row got no HTTP answer, and none since. */
  | "offline"
  /** It waits for credentials. */
  | "auth_required"
  /** The end. */
  | "closed";

/** What happens to a session, with `at` beside it. */
export type SessionHappening =
  /** It has another state. */
  | {
      type: "state";
      /** The new one. */
      state: SessionState;
    }
  /** What became of the stream for what belongs to no call. */
  | {
      type: "listen";
      /** It is open; it ended, and is opened again; the server has none, or nothing to tell on it. */
      state: "open" | "lost" | "unsupported";
    }
  /** A notification of the server's that belongs to no call. */
  | {
      type: "message";
      /** As it came. */
      message: JsonRpcNotification;
    }
  /** Events are missing on the stream for what belongs to no call. Nothing is done about it. */
  | ({ type: "gap" } & Gap)
  /** Something is odd, and the session goes on. */
  | {
      type: "warning";
      /** What, for a program. */
      code: WarningCode;
      /** What, for a person. */
      message: string;
    };

/** What happens to the session, and messages of the server that belong to no call. */
export type SessionEvent = {
  /** When it happened. */
  at: number;
} & SessionHappening;
