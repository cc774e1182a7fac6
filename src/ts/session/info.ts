// What the handshake told of the server.

import type { Era } from "../api/failure.js";
import type { ReadyOutput } from "../core/protocol.js";

/** What the handshake told of the server. */
export interface SessionInfo {
  era: Era;
  protocolVersion: string;
  sessionId?: string;
  serverInfo?: { name: string; version: string };
  capabilities: Record<string, unknown>;
}

// Capabilities are written into a state, and no engine writes what is nested without end.
const deepest = 64;

/** The same, from the response to it as far as that says. */
export function infoOf(output: ReadyOutput, message: unknown): SessionInfo {
  const { result } = (message ?? {}) as { result?: { serverInfo?: unknown; capabilities?: unknown } };
  const { serverInfo, capabilities } = result ?? {};
  return {
    era: output.era,
    protocolVersion: output.protocolVersion,
    ...(output.sessionId === undefined ? {} : { sessionId: output.sessionId }),
    ...(isObject(serverInfo) ? { serverInfo: serverInfo as { name: string; version: string } } : {}),
    capabilities: isObject(capabilities) && isShallow(capabilities, deepest) ? capabilities : {},
  };
}

/** Whether it has members, and is no list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((each) => isShallow(each, levels - 1));
}
