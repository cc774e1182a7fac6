// The smallest host the driver can have: fetch, microtasks, and a loop that reads bodies.
export class TestHost {
  constructor(onPoll, onSent, onHead, onChunk, onEnd, onFail) {
    Object.assign(this, { onPoll, onSent, onHead, onChunk, onEnd, onFail });
    this.exchanges = new Map();
    this.panics = [];
  }

  async transmit(exchange, url, method, headers, body) {
    const controller = new AbortController();
    this.exchanges.set(exchange, { controller });
    await undefined;
    if (!this.exchanges.has(exchange)) return;
    this.onSent(exchange);
    const cache = method === "GET" && typeof process === "undefined" ? { cache: "no-store" } : {};
    const init = { method, headers, body, redirect: "manual", signal: controller.signal, ...cache };
    try {
      const response = await fetch(url, init);
      const open = this.exchanges.get(exchange);
      if (!open) return;
      open.response = response;
      const value = (name) => response.headers.get(name) ?? undefined;
      this.onHead(exchange, response.status, value("content-type"), value("mcp-session-id"));
    } catch (error) {
      if (this.exchanges.delete(exchange)) this.onFail(exchange, String(error?.message ?? error));
    }
  }

  schedule() {
    queueMicrotask(() => this.onPoll());
  }

  panicked(text) {
    this.panics.push(text);
    console.error(text);
  }

  async read(exchange) {
    const open = this.exchanges.get(exchange);
    if (!open?.response) return;
    if (!open.response.body) return this.onEnd(exchange);
    const reader = open.response.body.getReader();
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (!this.exchanges.has(exchange)) return;
        if (done) break;
        this.onChunk(exchange, value);
      }
    } catch (error) {
      if (this.exchanges.delete(exchange)) this.onFail(exchange, String(error?.message ?? error));
      return;
    }
    this.exchanges.delete(exchange);
    this.onEnd(exchange);
  }

  abort(exchange) {
    const open = this.exchanges.get(exchange);
    this.exchanges.delete(exchange);
    open?.controller.abort();
  }

  // Nothing is told any more.
  stop() {
    for (const exchange of [...this.exchanges.keys()]) this.abort(exchange);
  }

  get openCount() {
    return this.exchanges.size;
  }

  get panicCount() {
    return this.panics.length;
  }
}

export const now = () => Date.now();

export async function fetchJson(url) {
  return (await fetch(url)).json();
}
