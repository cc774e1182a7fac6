// Calls that no core has heard of.
import type { ToolCallFailed } from "../api/failure.js";
import type { ToolCall } from "../api/session.js";
import { ownFailure, type Why } from "./events.js";
import { CallRecord, Promised } from "./record.js";

/** A call that no core has heard of. */
export interface UnsentCall {
  id: string | number;
  method: string;
  tool: string | undefined;
  at: number;
}

/** The event of a call that failed before a core heard of it. */
export function unsentEvent({ id, method, tool, at }: UnsentCall, why: Why): ToolCallFailed {
  const origin = { id, method, tool, isSafe: false, startedAt: at };
  return ownFailure(new CallRecord(origin, new Promised(), () => {}), at, why);
}

/** A call that no core has heard of: it has failed already, as any call does, with an event and an error. */
export function unsent(
  call: UnsentCall,
  why: Why,
  thrown?: unknown,
): { handle: ToolCall; event: ToolCallFailed } {
  const { id, method, tool, at } = call;
  const caller = new Promised();
  const record = new CallRecord({ id, method, tool, isSafe: false, startedAt: at }, caller, () => {});
  const event = ownFailure(record, at, why);
  record.fail(event, { thrown });
  return { handle: caller.handle(record), event };
}
