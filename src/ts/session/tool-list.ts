// The list of a server's tools, from all of its pages.
import type { Tool } from "../api/schema.js";
import type { ToolCall } from "../api/session.js";
import { clockText } from "../base/clock-text.js";
import { sizeOf } from "../base/json.js";
import { Deadline, type DeadlineTimes } from "../call/deadline.js";
import type { Why } from "../call/failure.js";

/** One page that was asked for. */
export interface Page {
  call: ToolCall;
  /** The clocks in force for it, where it has any. */
  times?: DeadlineTimes | undefined;
}

/** What the list is made with. */
export interface Listing {
  page(params: Record<string, unknown>): Page;
  /** Makes the call whose error says why there is no list. */
  broken(why: Why): ToolCall;
  clock(): number;
  /** Bytes of the whole list, about. */
  mostBytes: number;
}

// A server that gives new cursors for ever is as broken as one that repeats one.
const mostPages = 1_000;

/**
 * Collects the tools of all pages, for which together there is as much time as for one call, and as much room as for one
 * answer. A cursor that comes again, or no end of pages, would be a loop: a list that is not known to be whole must not
 * look like one.
 */
export async function listAllTools(listing: Listing): Promise<Tool[]> {
  const { clock } = listing;
  const startedAt = clock();
  const tools: Tool[] = [];
  const seen = new Set<string>();
  let bytes = 0;
  let { call, times } = listing.page({});
  for (;;) {
    const result = await call.result;
    const { tools: some, nextCursor } = (result ?? {}) as { tools?: unknown; nextCursor?: unknown };
    if (!Array.isArray(some)) return fails(listing, "malformed_response", "tools/list gave no list of tools");
    bytes += sizeOf(result);
    if (bytes > listing.mostBytes) {
      const text = `the pages of tools/list have more than ${listing.mostBytes} bytes (limits.maxBodyBytes)`;
      return fails(listing, "message_too_large", text);
    }
    for (const tool of some) tools.push(tool as Tool);
    // An empty string is a cursor, too.
    if (typeof nextCursor !== "string") return tools;
    if (seen.has(nextCursor) || seen.size >= mostPages) {
      const cursor = nextCursor === "" ? "an empty cursor" : "a cursor";
      const why = seen.has(nextCursor) ? `${cursor} a second time` : `more than ${mostPages} pages`;
      const text = `the list of tools is not whole: to tools/list the server gave ${why}`;
      return fails(listing, "protocol_error", text);
    }
    seen.add(nextCursor);
    const next = await nextPage(listing, { cursor: nextCursor, startedAt, times });
    if (next === undefined) {
      const clock = clockText("deadlineMs", times?.deadlineMs ?? 0);
      const text = `tools/list has not ended within ${clock}, for all of its pages`;
      return fails(listing, "deadline_exceeded", text);
    }
    call = next.call;
  }
}

/** A page that has ended, well or not, within what is left of the deadline; else `undefined`. */
async function nextPage(
  listing: Listing,
  { cursor, startedAt, times }: { cursor: string; startedAt: number; times: DeadlineTimes | undefined },
): Promise<Page | undefined> {
  const { clock } = listing;
  const leftMs = times && times.deadlineMs - (clock() - startedAt);
  if (leftMs !== undefined && leftMs <= 0) return undefined;
  // Not the call itself: it is a promise, and would be waited for.
  const page = listing.page({ cursor });
  if (times === undefined || leftMs === undefined) return page;
  let isLate = false;
  const deadline = new Deadline(clock, { ...times, deadlineMs: leftMs }, () => {
    isLate = true;
    page.call.cancel();
  });
  await page.call.result.catch(() => {}).finally(() => deadline.clear());
  return isLate ? undefined : page;
}

async function fails(listing: Listing, reason: Why["reason"], message: string): Promise<never> {
  await listing.broken({ reason, outcome: "rejected", message }).result;
  throw new Error("a call that failed has a result");
}
