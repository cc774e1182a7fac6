// The smallest host the driver can have: fetch, microtasks, and a loop that reads bodies.
export class TestHost {
  constructor(onPoll, onSent, onChunk, onEnd, onFail) {
    Object.assign(this, { onPoll, onSent, onChunk, onEnd, onFail });
    this.exchanges = new Map();
    this.panics = [];
  }

  open(exchange, url, init) {
    const controller = new AbortController();
    this.exchanges.set(exchange, { controller });
    return Promise.resolve().then(async () => {
      this.onSent(exchange);
      const response = await fetch(url, { ...init, signal: controller.signal });
      const open = this.exchanges.get(exchange);
      if (open) open.response = response;
      return response;
    });
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
