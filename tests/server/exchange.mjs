// One HTTP request and its answer, and the line both leave in the log.

export const CORS = {
  "access-control-allow-origin": "*",
  "access-control-allow-methods": "GET, POST, DELETE, OPTIONS",
  // What a server of 2025 allows: the headers of the 2026 protocol are missing on purpose.
  "access-control-allow-headers":
    "accept, authorization, content-type, last-event-id, mcp-protocol-version, mcp-session-id",
  "access-control-expose-headers": "mcp-session-id, retry-after, www-authenticate",
  "access-control-max-age": "600",
};

/** How many requests each socket brought. */
const requests = new WeakMap();

export class Exchange {
  /** `cors` are the headers of each answer by which a page may read it. */
  constructor(req, res, entry, cors = CORS) {
    entry.cameMs = performance.now();
    entry.nth = (requests.get(req.socket) ?? 0) + 1;
    requests.set(req.socket, entry.nth);
    this.req = req;
    this.res = res;
    this.entry = entry;
    this.cors = cors;
    res.on("close", () => {
      entry.closedAt = Date.now();
      entry.closedBy ??= "client";
    });
    res.on("error", () => {});
    // A replay writes many events at once, and each waits for the end of the body.
    res.setMaxListeners(0);
  }

  header(name) {
    return this.req.headers[name];
  }

  answer(status, body, headers = {}) {
    if (!this.#head(status, headers)) return;
    this.entry.closedBy = "server";
    this.res.end(body);
  }

  json(status, value, headers = {}) {
    this.answer(status, JSON.stringify(value), { "content-type": "application/json", ...headers });
  }

  rpcError(status, code, message, id = null) {
    this.json(status, { jsonrpc: "2.0", id, error: { code, message } });
  }

  /** Opens an event stream; the connection is what the script later writes to, cuts or ends. */
  openEvents(headers = {}) {
    this.#head(200, { "content-type": "text/event-stream", "cache-control": "no-cache", ...headers });
    this.res.flushHeaders();
    return new Connection(this);
  }

  /** Drops the socket: `"fin"` sends what is buffered and then FIN, `"rst"` a reset. */
  drop(how, name = how) {
    Object.assign(this.entry, { closedBy: "cut", cut: name, leftMs: performance.now() });
    const { socket } = this.res;
    if (how === "rst") socket?.resetAndDestroy();
    else socket?.destroySoon();
  }

  #head(status, headers) {
    if (this.res.headersSent || this.res.destroyed) return false;
    this.entry.status = status;
    this.res.writeHead(status, { ...this.cors, ...headers });
    return true;
  }
}

export class Connection {
  #exchange;
  open = true;
  onclose = () => {};

  constructor(exchange) {
    this.#exchange = exchange;
    exchange.res.on("close", () => {
      this.open = false;
      this.onclose();
    });
  }

  /** Settles when the bytes have left the process, or never can. A cut must not overtake them. */
  write(bytes) {
    const { res } = this.#exchange;
    if (!this.open || res.writableEnded) return Promise.resolve();
    this.#exchange.entry.bytes = (this.#exchange.entry.bytes ?? 0) + Buffer.byteLength(bytes);
    return new Promise((resolve) => {
      res.once("close", resolve);
      res.write(bytes, () => {
        res.off("close", resolve);
        resolve();
      });
    });
  }

  end() {
    this.#exchange.entry.closedBy ??= "server";
    this.#exchange.entry.leftMs = performance.now();
    this.#exchange.res.end();
  }

  /** `name` is what the log calls it. */
  cut(how, name) {
    this.#exchange.drop(how, name);
  }
}
