// JSON-RPC as clients send it: what a body holds, and what may not be in one.
import { Refusal } from "./refusal.mjs";

export const VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26"];
export const MODERN = "2026-07-28";
const VERSION_MEMBER = "io.modelcontextprotocol/protocolVersion";
export const KEY_MEMBER = "landfall/call-key";

export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isId = (id) => typeof id === "string" || Number.isFinite(id);

/** The messages of a body, `{ messages, isBatch }`. Throws a Refusal for what is none. */
export function readBody(text) {
  let body;
  try {
    body = JSON.parse(text);
  } catch {
    throw new Refusal(400, -32700, "the body is no JSON");
  }
  const messages = Array.isArray(body) ? body : [body];
  const isGood =
    messages.length > 0 && messages.length <= 100 && messages.every((each) => kindOf(each) !== undefined);
  if (!isGood) throw new Refusal(400, -32600, "the body is no JSON-RPC message");
  return { messages, isBatch: Array.isArray(body) };
}

/** Whether it is a request of the era without sessions, which a relay can't resume. */
export function isModern(messages) {
  return messages.some(({ params }) => typeof params?._meta?.[VERSION_MEMBER] === "string");
}

/** What a message is; nothing for what is none. */
export function kindOf(message) {
  if (!isObject(message) || message.jsonrpc !== "2.0") return undefined;
  const { id, method, params } = message;
  if (typeof method === "string") {
    if (params !== undefined && !isObject(params)) return undefined;
    if (id === undefined) return "notification";
    return isId(id) ? "request" : undefined;
  }
  if (method !== undefined || !isId(id)) return undefined;
  if (isObject(message.error)) return "error" in message && !("result" in message) ? "response" : undefined;
  return "result" in message ? "response" : undefined;
}

/** The version that is spoken with a client that offers this one. */
export const versionFor = (offered) => (VERSIONS.includes(offered) ? offered : VERSIONS[0]);

/** A response as text, around what is kept of one: `"result":...` or `"error":...`. */
export const responseText = (id, kept) => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},${kept}}`;

/** An error as it is kept. */
export const errorText = (error) => `"error":${JSON.stringify(error)}`;

/** What tells bodies apart. */
export async function digest(text) {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return btoa(String.fromCharCode(...new Uint8Array(bytes)));
}

/** Who a client is and what it can do, as it says in `initialize`. */
export function clientOf({ clientInfo, capabilities = {} }) {
  const isNamed = typeof clientInfo?.name === "string" && typeof clientInfo?.version === "string";
  return { ...(isNamed ? { clientInfo } : {}), capabilities };
}
