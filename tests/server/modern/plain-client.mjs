// Just enough of a client of 2026-07-28: plain fetch, no retry, nothing hidden.

import { CAPABILITIES, CLIENT_INFO, MODERN, VERSION } from "./words.mjs";

const ACCEPT = "application/json, text/event-stream";

export class ModernClient {
  #ids = 0;

  constructor(url, capabilities = {}) {
    this.url = url;
    this.capabilities = capabilities;
  }

  /** `headers` and `meta` come on top of what is right; a value of null takes a member away. */
  request(method, params = {}, { headers, meta, signal } = {}) {
    this.#ids += 1;
    const _meta = without({
      [VERSION]: MODERN,
      [CLIENT_INFO]: { name: "plain", version: "1.0.0" },
      [CAPABILITIES]: this.capabilities,
      ...meta,
    });
    const name = params.name ?? params.uri ?? params.taskId;
    return fetch(this.url, {
      method: "POST",
      headers: without({
        accept: ACCEPT,
        "content-type": "application/json",
        "mcp-protocol-version": MODERN,
        "mcp-method": method,
        "mcp-name": name ?? null,
        ...headers,
      }),
      body: JSON.stringify({ jsonrpc: "2.0", id: this.#ids, method, params: { ...params, _meta } }),
      signal,
    });
  }

  /** The result, of an answer that is a body of JSON. */
  async ask(method, params, options) {
    const { result, error } = await (await this.request(method, params, options)).json();
    if (error) throw Object.assign(new Error(error.message), error);
    return result;
  }

  /** Calls `scripted`, or the tool that `tool` names. */
  script(key, steps, { tool = "scripted", post, args, more, ...options } = {}) {
    return this.request(
      "tools/call",
      { name: tool, arguments: { key, steps, post, ...args }, ...more },
      options,
    );
  }
}

const without = (members) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
