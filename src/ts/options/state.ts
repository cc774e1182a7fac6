// A session as plain data, to go on with it elsewhere.
import { ConfigError } from "../api/errors.js";
import type { Era } from "../api/failure.js";
import type { Json, State } from "../api/options.js";
import type { Implementation, ServerCapabilities } from "../api/schema.js";
import { isObject, isShallow } from "../base/json.js";
import type { SessionFacts } from "../core/protocol.js";

const shapes = {
  era: (text: string) => ["legacy", "modern", "sse"].includes(text),
  sessionId: (text: string) => /^[\x21-\x7e]{1,1024}$/.test(text),
  protocolVersion: (text: string) => /^\d{4}-\d\d-\d\d$/.test(text),
  greeting: isObjectText,
  hello: isObjectText,
} as const;
// Not `location`: its query may hold what is nobody's business, and only a browser's page has to know it.
const names = ["era", "sessionId", "protocolVersion", "greeting", "hello"] as const;

/** A session as plain data: what {@link readState} takes. */
export function stateOf(url: string, facts: SessionFacts | undefined): State {
  const state: State = { version: 1, endpoint: endpointOf(url) };
  for (const name of names) if (facts?.[name] !== undefined) state[name] = facts[name];
  if (facts?.greeting !== undefined)
    state.capabilities = infoOf(facts, parsed(facts.greeting)).capabilities as Json;
  return state;
}

/** The session that a state tells of. Throws {@link ConfigError} for one of another endpoint, and for what is none. */
export function readState(state: State, url: string): SessionFacts {
  const refuse = (why: string) => {
    throw new ConfigError("state", `state ${why}`);
  };
  if (typeof state !== "object" || state === null || state.version !== 1) refuse("is none of version 1");
  if (state.endpoint !== endpointOf(url)) refuse(`belongs to another endpoint than ${endpointOf(url)}`);
  const known: Record<string, string> = {};
  for (const name of names) {
    const value = state[name];
    if (value === undefined) continue;
    if (typeof value !== "string" || !shapes[name](value)) refuse(`has a ${name} that can't be used`);
    else known[name] = value;
  }
  if (known.protocolVersion === undefined) refuse("was exported before the session stood");
  return known as SessionFacts;
}

/** Without the query, which may hold what is nobody's business. */
export function endpointOf(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}

function isObjectText(text: string): boolean {
  return isObject(parsed(text));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What the handshake told of the server. */
export interface SessionInfo {
  era: Era;
  protocolVersion: string;
  sessionId?: string;
  serverInfo?: Implementation;
  instructions?: string;
  capabilities: ServerCapabilities;
}

const serverInfoMember = "io.modelcontextprotocol/serverInfo";

// Capabilities are written into a state, and no engine writes what is nested without end.
const deepest = 64;

/** The same, from the facts of the session and the response to the handshake, as far as that says. */
export function infoOf(facts: SessionFacts | undefined, message: unknown): SessionInfo {
  const { result } = (message ?? {}) as { result?: Record<string, unknown> };
  const { instructions, capabilities, _meta: meta } = result ?? {};
  // A modern server says it in `_meta`.
  const serverInfo = result?.serverInfo ?? (isObject(meta) ? meta[serverInfoMember] : undefined);
  const { era = "legacy", protocolVersion = "", sessionId } = facts ?? {};
  return {
    era,
    protocolVersion,
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(isObject(serverInfo) ? { serverInfo: serverInfo as unknown as Implementation } : {}),
    ...(typeof instructions === "string" ? { instructions } : {}),
    capabilities: isObject(capabilities) && isShallow(capabilities, deepest) ? capabilities : {},
  };
}
