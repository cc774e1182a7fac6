// The relay at its door: what a request may do, and which session it is for.

import { preflight, readable } from "./cors.mjs";
import { callerOf, isForHere, isWelcome, knowsSecret } from "./doors.mjs";
import { isModern, kindOf, MODERN, readBody, VERSIONS } from "./messages.mjs";
import { Refusal, unknownSession } from "./refusal.mjs";

const ENDPOINT = "/mcp";

/**
 * Answers requests by sessions. `sessions(id)` gives `{ handle(ask) }`, and makes nothing lasting of an id that is not
 * known; `register` is asked for the metrics; `access` is the user's own check.
 */
export class Relay {
  #settings;
  #sessions;
  #register;
  #access;

  constructor({ settings, sessions, register, access }) {
    this.#settings = settings;
    this.#sessions = sessions;
    this.#register = register;
    this.#access = access;
  }

  async fetch(request) {
    const origin = request.headers.get("origin");
    if (!isForHere(request.headers.get("host"), this.#settings) || !isWelcome(origin, this.#settings))
      return new Response("this relay is not for you\n", { status: 403 });
    return readable(await this.#answer(request), origin);
  }

  async #answer(request) {
    try {
      return await this.#route(request);
    } catch (thrown) {
      if (thrown instanceof Refusal) return thrown.response();
      throw thrown;
    }
  }

  async #route(request) {
    const { pathname } = new URL(request.url);
    if (pathname === "/metrics") return this.#metrics(request);
    if (pathname !== ENDPOINT) return new Response("there is nothing but /mcp\n", { status: 404 });
    if (request.method === "OPTIONS") return preflight(request);
    const caller = await callerOf(request, this.#settings, this.#access);
    if (caller instanceof Response) return caller;
    if (request.headers.get("mcp-protocol-version") === MODERN) return bare();
    if (request.method === "POST") return this.#post(request, caller);
    if (request.method === "GET") return this.#get(request, caller);
    if (request.method === "DELETE") return this.#delete(request, caller);
    return notAllowed();
  }

  async #metrics(request) {
    if (request.method !== "GET") return notAllowed();
    if (!(await knowsSecret(request, this.#settings)))
      return new Response("these numbers are behind the SECRET\n", { status: 401 });
    const headers = { "content-type": "text/plain; version=0.0.4" };
    return new Response(await this.#register.metrics(), { headers });
  }

  async #post(request, caller) {
    const type = request.headers.get("content-type") ?? "";
    // Any page may send other types without asking.
    if (!/^application\/json\s*(?:;|$)/i.test(type.trim()))
      throw new Refusal(415, -32600, "the body must be application/json");
    const text = await readCounted(request, this.#settings.mostBodyBytes);
    const { messages, isBatch } = readBody(text);
    if (isModern(messages)) return bare();
    const session = request.headers.get("mcp-session-id");
    if (messages.some(({ method }) => method === "initialize") && session === null) {
      if (isBatch || kindOf(messages[0]) !== "request")
        throw new Refusal(400, -32600, "initialize is a request on its own");
      const id = newSessionId();
      return this.#sessions(id).handle({ kind: "begin", id, caller, text });
    }
    return this.#known(request, session).handle({ kind: "post", caller, text });
  }

  #get(request, caller) {
    const session = request.headers.get("mcp-session-id");
    if (session === null) return notAllowed();
    const lastEventId = request.headers.get("last-event-id") ?? undefined;
    return this.#known(request, session).handle({ kind: "listen", caller, lastEventId });
  }

  #delete(request, caller) {
    return this.#known(request, request.headers.get("mcp-session-id")).handle({ kind: "end", caller });
  }

  #known(request, session) {
    if (session === null) throw new Refusal(400, -32600, "Mcp-Session-Id is missing");
    const version = request.headers.get("mcp-protocol-version");
    if (version !== null && !VERSIONS.includes(version))
      throw new Refusal(400, -32600, "this MCP-Protocol-Version is not spoken here");
    if (/^[0-9a-f]{32}$/.test(session)) return this.#sessions(session);
    this.#register.mismatched();
    throw unknownSession();
  }
}

/** A client of both eras goes on with `initialize`. */
const bare = () => new Response(null, { status: 400 });

const notAllowed = () =>
  new Response(null, { status: 405, headers: { allow: "GET, POST, DELETE, OPTIONS" } });

/** 128 random bits. */
function newSessionId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The text of a body, which is read no further than it may be long. */
async function readCounted(request, most) {
  const tooLarge = () => new Refusal(413, -32600, `a body has at most ${most} bytes (MOST_BODY_BYTES)`);
  if (Number(request.headers.get("content-length")) > most) throw tooLarge();
  const chunks = [];
  let size = 0;
  const reader = request.body?.getReader();
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true };
    if (done) break;
    size += value.byteLength;
    if (size > most) {
      reader.cancel().catch(() => {});
      throw tooLarge();
    }
    chunks.push(value);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return new TextDecoder().decode(whole);
}
