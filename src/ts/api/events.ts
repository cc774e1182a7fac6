// What is told of calls and sessions while they run. `at` is in epoch milliseconds; durations are milliseconds and end in
// `Ms`.
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

/**
 * What happens to a call. A call gives any number of events, then exactly one `result` or `tool_call_failed`.
 * A JSON-RPC error of the server is an answer: `{ type: "result", error }`.
 */
export type CallEvent =
  | ({ at: number; requestId: string | number } & (
      | { type: "queued" }
      | { type: "session_replaced"; capabilitiesChanged: boolean }
      | { type: "auth_required" }
      | { type: "sent"; wireId: string | number; reissue: boolean; tool?: string }
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

/**
 * What happens to the session, and messages of the server that belong to no call. A gap is one of the GET stream; nothing
 * is done about it.
 */
export type SessionEvent =
  | {
      type: "state";
      at: number;
      state: "connecting" | "ready" | "recovering" | "offline" | "auth_required" | "closed";
    }
  | { type: "listen"; at: number; state: "open" | "lost" | "unsupported" }
  | { type: "message"; at: number; message: JsonRpcNotification }
  | {
      type: "gap";
      at: number;
      kind: "missing" | "progress" | "order";
      certain: boolean;
      before?: string;
      after?: string;
    };
