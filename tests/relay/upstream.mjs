// A server that keeps no events and sends no CORS headers, of the official SDK: what most servers are. Its tools count
// their runs.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";

const text = (said) => ({ content: [{ type: "text", text: said }] });

/**
 * Starts one: `{ url, runs(key), release(key), sessions, log, close() }`. `json` answers by JSON; `eventStore` makes it one
 * that can be resumed.
 */
export async function startUpstream({ json: isJson = false, eventStore, token } = {}) {
  const state = { runs: new Map(), held: new Map(), log: [], sessions: new Map(), cancelled: new Set() };
  const newSession = async () => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: isJson,
      ...(eventStore ? { eventStore: eventStore() } : {}),
      onsessioninitialized: (id) => state.sessions.set(id, transport),
      onsessionclosed: (id) => state.sessions.delete(id),
    });
    await newServer(state).connect(transport);
    return transport;
  };
  const server = createServer(async (request, response) => {
    const { headers, method } = request;
    const body = method === "POST" ? await json(request) : undefined;
    state.log.push({ method, headers, body });
    if (token && headers.authorization !== `Bearer ${token}`) return response.writeHead(401).end();
    const known = state.sessions.get(headers["mcp-session-id"]);
    const transport = known ?? (body?.method === "initialize" ? await newSession() : undefined);
    if (transport) return transport.handleRequest(request, response, body);
    return response.writeHead(404).end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    ...state,
    url: `http://127.0.0.1:${server.address().port}/mcp`,
    runs: (key) => state.runs.get(key) ?? 0,
    /** Lets a held run of a tool go on. */
    release: (key) => held(state, key).resolve(),
    /** It forgets all sessions. */
    forget: () => state.sessions.clear(),
    close: () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  };
}

function held(state, key) {
  if (!state.held.has(key)) state.held.set(key, Promise.withResolvers?.() ?? withResolvers());
  return state.held.get(key);
}

function withResolvers() {
  const made = {};
  made.promise = new Promise((resolve) => {
    made.resolve = resolve;
  });
  return made;
}

function newServer(state) {
  const server = new McpServer(
    { name: "upstream", version: "1.0.0" },
    { capabilities: { logging: {} }, instructions: "count" },
  );
  addTools(server, state);
  addAsking(server, state);
  addResources(server);
  return server;
}

function addTools(server, state) {
  const ran = (key) => state.runs.set(key, (state.runs.get(key) ?? 0) + 1);
  const key = { key: z.string() };
  server.registerTool("count", { inputSchema: key }, ({ key }) => {
    ran(key);
    return text(`run ${state.runs.get(key)}`);
  });
  // Tells a first event, is held until the test lets it go, then tells `steps` more.
  const slow = { ...key, steps: z.number().default(1) };
  server.registerTool("hold", { inputSchema: slow }, async ({ key, steps }, extra) => {
    ran(key);
    extra.signal.addEventListener("abort", () => state.cancelled.add(key));
    const { progressToken } = extra._meta ?? {};
    const tell = async (progress) => {
      if (progressToken === undefined) return;
      const params = { progressToken, progress, total: steps };
      await extra.sendNotification({ method: "notifications/progress", params });
    };
    await extra.sendNotification({
      method: "notifications/message",
      params: { level: "info", data: `held ${key}` },
    });
    await held(state, key).promise;
    for (let step = 1; step <= steps; step += 1) await tell(step);
    return text(`held ${key}`);
  });
  server.registerTool("large", { inputSchema: { size: z.number() } }, ({ size }) => text("é".repeat(size)));
  server.registerTool("fail", {}, () => {
    throw Object.assign(new Error("no"), { code: -32050 });
  });
  server.registerTool("touch", { annotations: { readOnlyHint: true } }, () => {
    server.sendToolListChanged();
    return text("touched");
  });
}

function addAsking(server, state) {
  server.registerTool("ask", { inputSchema: { key: z.string() } }, async ({ key }, extra) => {
    state.runs.set(key, (state.runs.get(key) ?? 0) + 1);
    const params = {
      message: "Who?",
      requestedSchema: { type: "object", properties: { name: { type: "string" } } },
    };
    const schema = z.object({ action: z.string(), content: z.any() }).passthrough();
    try {
      const answer = await extra.sendRequest({ method: "elicitation/create", params }, schema, {
        timeout: 600_000,
        signal: extra.signal,
      });
      return text(JSON.stringify(answer));
    } catch (error) {
      return text(`refused ${error.code} ${error.message}`);
    }
  });
}

function addResources(server) {
  server.registerResource("one", "test://one", {}, (uri) => ({
    contents: [{ uri: uri.href, text: "one" }],
  }));
  server.registerResource("many", new ResourceTemplate("test://{n}", { list: undefined }), {}, (uri) => ({
    contents: [{ uri: uri.href, text: uri.href }],
  }));
  server.registerPrompt("greet", {}, () => ({
    messages: [{ role: "user", content: { type: "text", text: "hello" } }],
  }));
}
