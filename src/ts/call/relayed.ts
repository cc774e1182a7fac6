// What a relay of landfall's says of a call that it could not carry through (the option `relay`).
import type { JsonRpcError } from "../api/events.js";
import type { CallDiagnostics, FailureReason, Outcome, ToolCallFailed } from "../api/failure.js";
import { isObject } from "../base/json.js";
import type { ServerText } from "../base/server-text.js";
import { ownFailure } from "./failure.js";
import type { CallRecord } from "./record.js";

const member = "io.landfall/failure";

const reasons: Record<FailureReason, true> = {
  ...{ connect_timeout: true, first_byte_timeout: true, idle_timeout: true, call_timeout: true },
  ...{ recovery_exhausted: true, deadline_exceeded: true, retry_exceeds_budget: true, network_error: true },
  ...{ stream_lost: true, resume_rejected: true, session_lost: true, gap: true, unauthorized: true },
  ...{ forbidden: true, http_error: true, redirected: true, unexpected_content: true },
  ...{ unsupported_version: true, malformed_response: true, message_too_large: true, protocol_error: true },
  ...{ queue_full: true, task_lost: true, task_cancelled: true, interrupted: true, cancelled: true },
  ...{ closed: true, internal_error: true },
};

// What a relay knows better, for it saw the server: numbers each.
const measures = ["lastStatus", "bytes", "events", "duplicates", "gaps"] as const;
const mostAttempts = 64;

/**
 * The failure that an error of a relay's tells of, where it tells of one. That a request was not sent is not for others to
 * say: it was sent to them. Whether the call may be made again is judged by what is known here.
 */
export function relayedFailure(
  error: JsonRpcError,
  record: CallRecord,
  at: number,
  serverText: ServerText,
): ToolCallFailed | undefined {
  const told = isObject(error.data) ? error.data[member] : undefined;
  if (!isObject(told) || typeof told.reason !== "string" || !Object.hasOwn(reasons, told.reason))
    return undefined;
  const outcome: Outcome = told.outcome === "rejected" ? "rejected" : "unknown";
  const message = `the relay says: ${serverText.fit(error.message)}`;
  const failed = ownFailure(record, at, { reason: told.reason as FailureReason, outcome, message });
  return { ...failed, diagnostics: merged(failed.diagnostics, told.diagnostics) };
}

function merged(own: CallDiagnostics, told: unknown): CallDiagnostics {
  if (!isObject(told)) return own;
  const known: Partial<CallDiagnostics> = {};
  for (const name of measures) if (Number.isSafeInteger(told[name])) known[name] = told[name] as number;
  const { attempts } = told;
  if (Array.isArray(attempts) && attempts.every(isAttempt)) known.attempts = attempts.slice(-mostAttempts);
  return { ...own, ...known };
}

const levels = ["L1", "L2", "reissue"];
const results = ["resumed", "empty", "refused", "network_error", "timeout", "aborted"];

function isAttempt(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { level, at, waitMs, result, status, events, cursor, ...more } = value;
  const numbers = [at, waitMs, events, ...(status === undefined ? [] : [status])];
  return (
    levels.includes(level as string) &&
    results.includes(result as string) &&
    numbers.every(Number.isSafeInteger) &&
    cursor === undefined &&
    Object.keys(more).length === 0
  );
}
