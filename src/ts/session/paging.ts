// Lists that come in pages.
import type { ToolCall } from "../api/session.js";
import type { Why } from "../call/events.js";

/** A tool as the server lists it. */
export interface Tool {
  name: string;
  [key: string]: unknown;
}

// A server that gives new cursors for ever is as broken as one that repeats one.
const mostPages = 1_000;

/**
 * Collects the tools of all pages. A cursor that comes again, or no end of pages, would be a loop: then `broken` makes
 * the error, for a list that is not known to be whole must not look like one.
 */
export async function listAllTools(
  page: (params: Record<string, unknown>) => ToolCall,
  broken: (why: Why) => ToolCall,
): Promise<Tool[]> {
  const tools: Tool[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  do {
    const result: unknown = await page(cursor === undefined ? {} : { cursor }).result;
    const { tools: some, nextCursor } = (result ?? {}) as { tools?: unknown; nextCursor?: unknown };
    if (!Array.isArray(some)) {
      return broken({
        reason: "malformed_response",
        outcome: "rejected",
        message: "tools/list gave no list of tools",
      }).result;
    }
    for (const tool of some) tools.push(tool as Tool);
    // Some servers say "no more" by an empty cursor.
    cursor = typeof nextCursor === "string" && nextCursor !== "" ? nextCursor : undefined;
    if (cursor !== undefined && (seen.has(cursor) || seen.size >= mostPages)) {
      const message = "tools/list has no end: the server gave a cursor again, or too many";
      return broken({ reason: "protocol_error", outcome: "rejected", message }).result;
    }
    if (cursor !== undefined) seen.add(cursor);
  } while (cursor !== undefined);
  return tools;
}
