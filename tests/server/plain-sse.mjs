// Just enough of a client of HTTP+SSE (2024-11-05) to ask a server by plain fetch.

export class PlainSse {
  #ids = 0;
  #waiting = new Map();
  #stop = new AbortController();
  notifications = [];

  /** Opens the stream, and does the handshake on it. */
  static async open(url, protocolVersion = "2024-11-05") {
    const client = await PlainSse.listen(url);
    const clientInfo = { name: "plain", version: "1.0.0" };
    client.server = await client.request("initialize", { protocolVersion, capabilities: {}, clientInfo });
    await client.post({ method: "notifications/initialized" });
    return client;
  }

  /** Opens the stream, and no more. */
  static async listen(url) {
    const client = new PlainSse();
    await client.#listen(url);
    return client;
  }

  async #listen(url) {
    const response = await fetch(url, {
      headers: { accept: "text/event-stream" },
      signal: this.#stop.signal,
    });
    const endpoint = new Promise((resolve, reject) => {
      this.ended = this.#read(response, (data) => resolve(new URL(data, url))).finally(() =>
        reject(new Error("the stream ended without an endpoint")),
      );
    });
    this.ended.catch(() => {});
    this.endpoint = await endpoint;
  }

  async #read(response, onEndpoint) {
    const decoder = new TextDecoder();
    let text = "";
    for await (const chunk of response.body) {
      text = (text + decoder.decode(chunk, { stream: true })).replaceAll("\r\n", "\n");
      const blocks = text.split("\n\n");
      text = blocks.pop();
      for (const block of blocks) {
        const [, event] = /^event: ?(.*)$/m.exec(block) ?? [];
        const [, data] = /^data: ?(.*)$/m.exec(block) ?? [];
        if (event === "endpoint") onEndpoint(data);
        else if (data) this.#take(JSON.parse(data));
      }
    }
  }

  #take(message) {
    if (message.method === undefined) this.#waiting.get(message.id)?.(message);
    else this.notifications.push(message);
  }

  post(message) {
    return fetch(this.endpoint, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
    });
  }

  /** Calls the tool `scripted`. */
  script(key, steps, { post, _meta, id } = {}) {
    return this.request("tools/call", { name: "scripted", arguments: { key, steps, post }, _meta }, id);
  }

  /** The result; `id` may be given, so that the request can be cancelled. */
  async request(method, params, id = this.#nextId()) {
    const answer = new Promise((resolve) => this.#waiting.set(id, resolve));
    const { status } = await this.post({ id, method, params });
    if (status !== 202) throw new Error(`${method} was answered by ${status}`);
    const { result, error } = await answer;
    if (error) throw Object.assign(new Error(error.message), error);
    return result;
  }

  #nextId() {
    this.#ids += 1;
    return this.#ids;
  }

  close() {
    this.#stop.abort();
  }
}
