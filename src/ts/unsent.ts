import { CallRecord } from "./call.js";
import { ownFailure, type Why } from "./events.js";
import type { ToolCall, ToolCallFailed } from "./types.js";

/** A call that no core has heard of: it has failed already, as any call does, with an event and an error. */
export function unsent(
  call: { id: string; method: string; tool: string | undefined; at: number },
  why: Why,
  cause?: unknown,
): { handle: ToolCall; event: ToolCallFailed } {
  const { id, method, tool, at } = call;
  const record = new CallRecord({ id, method, tool, isSafe: false, startedAt: at }, () => {});
  const event = ownFailure(record, at, why);
  record.fail(event, cause);
  return { handle: record.handle, event };
}
