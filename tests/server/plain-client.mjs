// Just enough of a client to ask a server by plain fetch: no retry, no recovery, nothing hidden.

const ACCEPT = "application/json, text/event-stream";

export class PlainClient {
  #ids = 0;
  #headers = {};

  static async open(url, protocolVersion = "2025-11-25") {
    const client = new PlainClient();
    client.url = url;
    const clientInfo = { name: "plain", version: "1.0.0" };
    const response = await client.request("initialize", { protocolVersion, capabilities: {}, clientInfo });
    client.session = response.headers.get("mcp-session-id");
    const { result } = /json/.test(response.headers.get("content-type"))
      ? await response.json()
      : (await readEvents(response)).events.at(-1).message;
    client.version = result.protocolVersion;
    client.#headers = { "mcp-session-id": client.session, "mcp-protocol-version": client.version };
    await client.post({ method: "notifications/initialized" });
    return client;
  }

  post(message, headers = {}) {
    return fetch(this.url, {
      method: "POST",
      headers: { accept: ACCEPT, "content-type": "application/json", ...this.#headers, ...headers },
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
    });
  }

  request(method, params) {
    this.#ids += 1;
    return this.post({ id: this.#ids, method, params });
  }

  /** Calls the tool `scripted`. */
  script(key, steps, { post, _meta } = {}) {
    return this.request("tools/call", { name: "scripted", arguments: { key, steps, post }, _meta });
  }

  resume(lastEventId) {
    return fetch(this.url, { headers: { accept: ACCEPT, ...this.#headers, "last-event-id": lastEventId } });
  }

  delete() {
    return fetch(this.url, { method: "DELETE", headers: this.#headers });
  }
}

/** The events of a body until it ends: `{ events, retry?, cut, rest }`; `rest` is what no blank line ended. */
export async function readEvents(response) {
  let text = "";
  let cut = false;
  try {
    const decoder = new TextDecoder();
    for await (const chunk of response.body) text += decoder.decode(chunk, { stream: true });
  } catch {
    cut = true;
  }
  const blocks = text.replaceAll("\r\n", "\n").split("\n\n");
  const rest = blocks.pop();
  const events = blocks.map(parseBlock);
  return { events, retry: events.findLast((event) => event.retry)?.retry, cut, rest };
}

function parseBlock(block) {
  const event = {};
  for (const line of block.split("\n")) {
    const [, name, value] = /^([^:]*):? ?(.*)$/.exec(line);
    if (name) event[name] = name === "retry" ? Number(value) : value;
  }
  if (event.data) event.message = JSON.parse(event.data);
  return event;
}

/** The texts of the notifications/message among events. */
export const texts = (events) => events.flatMap(({ message }) => message?.params?.data ?? []);
