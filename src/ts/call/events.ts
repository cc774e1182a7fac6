// The public events, from what the core tells and what the wrapper knows.
import type { CallEvent, JsonRpcError, JsonRpcNotification, SessionEvent } from "../api/events.js";
import type { FailureReason, Outcome, ToolCallFailed } from "../api/failure.js";
import { textOf } from "../base/thrown.js";
import type { EventOutput, FailureOutput } from "../core/protocol.js";
import type { Failure } from "../http/credentials.js";
import type { CallRecord } from "./record.js";

/** Why a call failed, where the wrapper says so itself. */
export interface Why {
  reason: FailureReason;
  outcome: Outcome;
  message: string;
}

/** The public event of a call. A malformed progress is what it is, a message. */
export function callEvent(output: EventOutput, requestId: string | number, message: unknown): CallEvent {
  const { at, type } = output;
  // The two that come by the thousand are written out: taking members away from an object is slow.
  if (type === "progress") return progressEvent(at, requestId, message as JsonRpcNotification);
  if (type === "message") return { at, type, requestId, message: message as JsonRpcNotification };
  const { out: _out, call: _call, ...fields } = output;
  return { ...fields, requestId } as CallEvent;
}

function progressEvent(at: number, requestId: string | number, notification: JsonRpcNotification): CallEvent {
  const { progress, total, message } = notification.params ?? {};
  if (typeof progress !== "number") return { at, type: "message", requestId, message: notification };
  return {
    at,
    requestId,
    type: "progress",
    progress,
    ...(typeof total === "number" ? { total } : {}),
    ...(typeof message === "string" ? { message } : {}),
  };
}

/** The public event of a session. */
export function sessionEvent(output: EventOutput, message: unknown): SessionEvent {
  const { out: _out, message: _index, ...fields } = output;
  return (output.type === "message" ? { ...fields, message } : fields) as SessionEvent;
}

/** The public event of a call that the core saw fail. */
export function failureOf(output: FailureOutput, requestId: string | number): ToolCallFailed {
  const { out: _out, call: _call, httpStatus: _status, body: _body, text, ...fields } = output;
  return { ...fields, requestId, message: text };
}

/** A failure that the wrapper states itself, since no core can: from what it knows of the call. */
export function ownFailure(record: CallRecord, at: number, why: Why): ToolCallFailed {
  const { id, method, tool, isSafe } = record.origin;
  return {
    type: "tool_call_failed",
    at,
    requestId: id,
    method,
    ...(tool === undefined ? {} : { tool }),
    reason: why.reason,
    outcome: why.outcome,
    retrySafe: why.outcome !== "unknown" || isSafe,
    message: why.message,
    diagnostics: record.diagnostics(at),
  };
}

/** The same failure of a call of which no request was handed to `fetch`: the core can't know. */
export function unsentCall(event: ToolCallFailed): ToolCallFailed {
  return event.outcome === "unknown" ? { ...event, outcome: "not_sent", retrySafe: true } : event;
}

/** The same failure, with what the core can't know: why there were no headers, or what the provider of credentials threw. */
export function explained(event: ToolCallFailed, failure: Failure): ToolCallFailed {
  const { unsendable, byProvider, thrown } = failure;
  const text = unsendable ?? (byProvider === true ? textOf(thrown) : undefined);
  if (text === undefined || event.message.includes(text)) return event;
  return { ...event, message: `${event.message}: ${text}` };
}

/** A JSON-RPC error with its members as the types say, whatever the server sent. */
export function jsonRpcError(error: unknown): JsonRpcError {
  const { code, message, data } = (error ?? {}) as { code?: unknown; message?: unknown; data?: unknown };
  return {
    code: Number.isSafeInteger(code) ? (code as number) : -32603,
    message: typeof message === "string" ? message : "the server answered with an error that has no message",
    ...(data === undefined ? {} : { data }),
  };
}
