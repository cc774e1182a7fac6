// A relay of Node's before a server, for tests.
import * as landfall from "../../target/npm/entry/index.js";
import { serve } from "../../www/relay/node/server.mjs";
import { readSettings } from "../../www/relay/relay/settings.mjs";
import { startUpstream } from "./upstream.mjs";

export { landfall };

/** A relay before the server at a URL. `env` is what the relay is set to. */
export function serveBefore(url, { env, clock, folder, access } = {}) {
  const settings = readSettings(
    { UPSTREAM: url, PUBLIC: "1", TOOLS: "*", ...env },
    { hasAccess: access !== undefined },
  );
  return serve({ settings, landfall, clock, folder, access });
}

/** A relay and its server: `{ url, upstream, relay, close() }`. */
export async function stage({ server, ...given } = {}) {
  const upstream = await startUpstream(server);
  const relay = await serveBefore(upstream.url, given);
  return {
    ...{ upstream, relay, url: relay.url },
    async close() {
      await relay.close();
      await upstream.close();
    },
  };
}

/** A clock that a test moves on: real time runs in it, too, so that sockets are waited for. */
export class Clock {
  #ahead = 0;
  #timers = new Set();

  now() {
    return Date.now() + this.#ahead;
  }

  after(ms, late) {
    const timer = { at: this.now() + ms, late };
    this.#timers.add(timer);
    this.#arm(timer);
    return () => {
      clearTimeout(timer.id);
      this.#timers.delete(timer);
    };
  }

  /** So much later. */
  async pass(ms) {
    this.#ahead += ms;
    const due = [...this.#timers]
      .filter(({ at }) => at <= this.now())
      .sort((one, other) => one.at - other.at);
    for (const timer of due) this.#fire(timer);
    for (const timer of this.#timers) this.#arm(timer);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }

  #arm(timer) {
    clearTimeout(timer.id);
    timer.id = setTimeout(() => this.#fire(timer), Math.max(0, Math.min(timer.at - this.now(), 2 ** 31 - 1)));
    timer.id.unref();
  }

  #fire(timer) {
    clearTimeout(timer.id);
    if (this.#timers.delete(timer)) timer.late();
  }
}

/** A client that knows HTTP alone. */
export class Raw {
  #url;
  #headers;

  constructor(url, headers = {}) {
    this.#url = url;
    this.#headers = headers;
  }

  /** Begins a session. */
  async initialize({ version = "2025-11-25", capabilities = {}, id = 0 } = {}) {
    const params = { protocolVersion: version, capabilities, clientInfo: { name: "raw", version: "1" } };
    const response = await this.post({ jsonrpc: "2.0", id, method: "initialize", params });
    this.session = response.headers.get("mcp-session-id") ?? undefined;
    if (this.session) this.#headers = { ...this.#headers, "mcp-session-id": this.session };
    const body = await response.json();
    if (response.ok) await this.post({ jsonrpc: "2.0", method: "notifications/initialized" });
    return { response, body };
  }

  post(message, { headers = {}, signal } = {}) {
    return fetch(this.#url, {
      method: "POST",
      headers: {
        ...{ "content-type": "application/json", accept: "application/json, text/event-stream" },
        ...this.#headers,
        ...headers,
      },
      body: typeof message === "string" ? message : JSON.stringify(message),
      signal,
    });
  }

  get(lastEventId, { signal, headers = {} } = {}) {
    return fetch(this.#url, {
      headers: {
        ...{ accept: "text/event-stream", ...this.#headers, ...headers },
        ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId }),
      },
      signal,
    });
  }

  delete() {
    return fetch(this.#url, { method: "DELETE", headers: this.#headers });
  }
}

/** A request of a tool. */
export const call = (id, name, args = {}, _meta) => ({
  ...{ jsonrpc: "2.0", id, method: "tools/call" },
  params: { name, arguments: args, ...(_meta ? { _meta } : {}) },
});

/** The blocks of an event stream, until its end or until one is what is waited for: `{ id, data, retry, comment }` each. */
export async function blocks(response, until = () => false) {
  const reader = new Blocks(response);
  const read = [];
  for (;;) {
    const block = await reader.next();
    if (block === undefined) return read;
    read.push(block);
    if (until(block)) {
      await reader.cancel();
      return read;
    }
  }
}

/** Reads an event stream block by block. */
export class Blocks {
  #reader;
  #text = "";

  constructor(response) {
    this.#reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  }

  async next() {
    for (;;) {
      const end = this.#text.indexOf("\n\n");
      if (end >= 0) {
        const block = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 2);
        return parse(block);
      }
      const { done, value } = await this.#reader.read();
      if (done) return undefined;
      this.#text += value;
    }
  }

  /** The next that has data. */
  async message() {
    for (;;) {
      const block = await this.next();
      if (block === undefined || block.data) return block;
    }
  }

  cancel() {
    return this.#reader.cancel().catch(() => {});
  }
}

function parse(block) {
  const found = {};
  for (const line of block.split("\n")) {
    const [, name, value] = /^(\w*): ?(.*)$/.exec(line) ?? [];
    if (name === "") found.comment = value;
    else if (name === "data") found.data = value === "" ? undefined : JSON.parse(value);
    else if (name !== undefined) found[name] = value;
  }
  return found;
}

/** Waits until something is so. */
export async function until(isSo, what = "it") {
  for (let tries = 0; tries < 500; tries += 1) {
    const given = await isSo();
    if (given) return given;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`${what} did not come to be`);
}
