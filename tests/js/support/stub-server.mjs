// An MCP server as a `fetch`: no socket, so that a test decides what each request gets, and sees every one of them.

const json = (body, headers = {}) =>
  new Response(JSON.stringify(body), { headers: { "content-type": "application/json", ...headers } });

/**
 * `answer(request)` gives a Response, an object to be sent as JSON, or undefined for what a plain server does.
 * A request is `{ method, headers, body, signal }`, `body` being the JSON-RPC message of a POST.
 */
export function stubServer(answer = () => undefined) {
  const requests = [];
  const fetch = async (url, init) => {
    const body = init.body === undefined ? undefined : JSON.parse(init.body);
    const request = { url, method: init.method, headers: init.headers, body, signal: init.signal };
    requests.push(request);
    const given = (await answer(request)) ?? plain(request);
    return given instanceof Response ? given : json(given);
  };
  /** The JSON-RPC methods that were posted. */
  const posted = () => requests.filter(({ body }) => body !== undefined).map(({ body }) => body.method);
  return { fetch, requests, posted };
}

function plain({ method, body }) {
  if (method === "DELETE") return new Response(null, { status: 204 });
  if (method === "GET") return new Response(null, { status: 405 });
  if (body.method === "initialize") {
    const result = {
      protocolVersion: body.params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "stub", version: "1" },
    };
    return json({ jsonrpc: "2.0", id: body.id, result }, { "mcp-session-id": "stub-1" });
  }
  if (body.id === undefined || body.method === undefined) return new Response(null, { status: 202 });
  return json({ jsonrpc: "2.0", id: body.id, result: { content: [{ type: "text", text: "done" }] } });
}

/** An event stream that the test feeds: `event(message)`, `raw(text)`, `close()`, `fail(error)`. */
export function eventStream() {
  let controller;
  const stream = { isCancelled: false };
  const body = new ReadableStream({
    start(given) {
      controller = given;
    },
    cancel() {
      stream.isCancelled = true;
    },
  });
  const raw = (text) => controller.enqueue(new TextEncoder().encode(text));
  return Object.assign(stream, {
    response: new Response(body, { headers: { "content-type": "text/event-stream" } }),
    raw,
    event: (message) => raw(`data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`),
    close: () => controller.close(),
    fail: (error) => controller.error(error),
  });
}
