// Transports without a Client above them, and what a program would do by hand: `{ name, open(url, options) }` gives
// `{ send(message), close() }`, and each message that comes is handed to `options.onmessage`.

const initialize = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "load", version: "1.0.0" },
  },
};
const initialized = { jsonrpc: "2.0", method: "notifications/initialized" };

async function opened(transport, onmessage) {
  await new Promise((resolve, reject) => {
    transport.onmessage = resolve;
    transport.onerror = reject;
    transport
      .start()
      .then(() => transport.send(initialize), reject)
      .catch(reject);
  });
  transport.setProtocolVersion("2025-11-25");
  transport.onmessage = onmessage;
  transport.onerror = () => {};
  await transport.send(initialized);
  return transport;
}

const landfall = {
  name: "landfall",
  async open(url, { onmessage, limits }) {
    const { LandfallTransport } = await import("../../target/npm/entry/index.js");
    return opened(new LandfallTransport(url, { limits, listen: false }), onmessage);
  },
};

const official = {
  name: "official v2",
  async open(url, { onmessage }) {
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
    return opened(new StreamableHTTPClientTransport(new URL(url)), onmessage);
  },
};

/** `fetch`, a parser of events and `JSON.parse`: what no client can do without. */
const bare = {
  name: "bare",
  async open(url, { onmessage }) {
    const { EventSourceParserStream } = await import("eventsource-parser/stream");
    const headers = { accept: "application/json, text/event-stream", "content-type": "application/json" };
    const stop = new AbortController();
    const read = async (body) => {
      const events = body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
      for await (const { data } of events) onmessage(JSON.parse(data));
    };
    return {
      async send(message) {
        const init = { method: "POST", headers, body: JSON.stringify(message), signal: stop.signal };
        const { body } = await fetch(url, init);
        read(body).catch(() => {});
      },
      close: () => stop.abort(),
    };
  },
};

export const TRANSPORTS = { landfall, official, bare };
