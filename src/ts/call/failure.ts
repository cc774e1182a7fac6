// The failures of calls: those that the core tells, and those that no core can tell.
import type { FailureReason, Outcome, ToolCallFailed } from "../api/failure.js";
import type { ToolCall } from "../api/session.js";
import { fitName, type ServerText } from "../base/server-text.js";
import { codeOf, textOf } from "../base/thrown.js";
import type { CallSpec, FailureOutput } from "../core/protocol.js";
import type { Failure } from "../http/credentials.js";
import { CallRecord, Promised } from "./record.js";

/** Why a call failed, where the wrapper says so itself. */
export interface Why {
  reason: FailureReason;
  outcome: Outcome;
  message: string;
}

/** The public event of a call that the core saw fail. */
export function failureOf(output: FailureOutput, requestId: string | number): ToolCallFailed {
  const { out: _out, call: _call, httpStatus: _status, body: _body, text, ...fields } = output;
  return { ...fields, requestId, message: text };
}

/** A failure that the wrapper states itself, since no core can: from what it knows of the call. */
export function ownFailure(record: CallRecord, at: number, why: Why): ToolCallFailed {
  const { id, method, tool, isSafe, resumes } = record.origin;
  const outcome = resumes && why.outcome === "not_sent" ? "unknown" : why.outcome;
  return {
    type: "tool_call_failed",
    at,
    requestId: id,
    method,
    ...(tool === undefined ? {} : { tool }),
    reason: why.reason,
    outcome,
    retrySafe: outcome !== "unknown" || isSafe,
    message: why.message,
    ...(record.taskId === undefined ? {} : { taskId: record.taskId }),
    diagnostics: record.diagnostics(at),
  };
}

/**
 * The same failure, with what the core can't know: why there were no headers, what the provider of credentials threw,
 * or a limit of the runtime's.
 */
export function explained(event: ToolCallFailed, failure: Failure, serverText: ServerText): ToolCallFailed {
  const { unsendable, byProvider, thrown } = failure;
  const said = unsendable ?? (byProvider === true ? textOf(thrown) : limitOf(codeOf(thrown)));
  // A provider may tell what its server said.
  const text = said && serverText.fit(said);
  if (!text || event.message.includes(text)) return event;
  return { ...event, message: `${event.message}: ${text}` };
}

/**
 * The same failure, as its message is told: whose it is, and whether a tool may have run, for a model may read no more of
 * it, and a structured clone keeps no more of an error.
 */
export function worded(event: ToolCallFailed, endpoint: string): ToolCallFailed {
  const { method, tool, reason, outcome, message } = event;
  const what = fitName(tool === undefined ? method : `${method} ${tool}`);
  const mayHaveRun = outcome === "unknown" && method === "tools/call" ? "; the tool may have run" : "";
  // Callers look for these words, which may stand in a port.
  const place = endpoint.replaceAll(/40[145]|Unauthorized/g, "...");
  return {
    ...event,
    message: `${what} at ${place} failed (${reason}, ${outcome}): ${message}${mayHaveRun}`,
  };
}

/** Node's own fetch gives up earlier than the clocks of a call may want: what for, and what lifts that. */
function limitOf(code: string): string | undefined {
  const lifting = (option: string) =>
    `Node's own fetch gives up after 300 s; an undici Agent with ${option}: 0 as requestInit.dispatcher lifts that`;
  if (code === "UND_ERR_HEADERS_TIMEOUT") return `without headers ${lifting("headersTimeout")}`;
  if (code === "UND_ERR_BODY_TIMEOUT") return `without a byte ${lifting("bodyTimeout")}`;
  return undefined;
}

/** Why a call was not made whose signal was aborted before. */
export const aborted: Why = {
  reason: "cancelled",
  outcome: "not_sent",
  message: "the signal was aborted before the call",
};
/** Why there is no session whose signal was aborted while it was being opened. */
export const abortedMeanwhile: Why = {
  reason: "cancelled",
  outcome: "unknown",
  message: "the signal was aborted while the session was being opened",
};
/** Why a call was not made after `close()`. */
export const closedBefore: Why = {
  reason: "closed",
  outcome: "not_sent",
  message: "the session was closed before this call",
};

/** A call that no core has heard of. */
export interface UnsentCall {
  endpoint: string;
  id: string | number;
  method: string;
  /** What of its making says how it failed. */
  spec: Pick<CallSpec, "tool" | "idempotent" | "resumptionToken" | "task">;
  at: number;
}

/** The event of a call that failed before a core heard of it. */
export function unsentEvent(call: UnsentCall, why: Why): ToolCallFailed {
  return worded(ownFailure(recordOf(call, new Promised()), call.at, why), call.endpoint);
}

/** A call that no core has heard of: it has failed already, as any call does, with an event and an error. */
export function unsent(
  call: UnsentCall,
  why: Why,
  thrown?: unknown,
): { handle: ToolCall; event: ToolCallFailed } {
  const caller = new Promised();
  const record = recordOf(call, caller);
  const event = worded(ownFailure(record, call.at, why), call.endpoint);
  record.fail(event, { thrown });
  return { handle: caller.handle(record), event };
}

/** Whether a call goes on with what was begun before. */
export function resumes({ resumptionToken, task }: { resumptionToken?: unknown; task?: unknown }): boolean {
  return resumptionToken !== undefined || task !== undefined;
}

function recordOf({ id, method, spec, at }: UnsentCall, caller: Promised): CallRecord {
  const { tool, idempotent } = spec;
  const origin = { isSafe: idempotent === true, resumes: resumes(spec), task: spec.task };
  return new CallRecord({ id, method, tool, ...origin, startedAt: at }, caller, () => {});
}
