// A server on the official TypeScript SDK: resumable sessions for 2025-11-25 and, unless told otherwise, 2026-07-28 on
// the same address. Its tools are those of python_server.py.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from "@modelcontextprotocol/node";
import {
  acceptedContent,
  createMcpHandler,
  inputRequired,
  inputResponse,
  isLegacyRequest,
  McpServer,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { InMemoryEventStore } from "./event-store.mjs";

const text = (value) => ({ content: [{ type: "text", text: String(value) }] });

/** Returns `{ url, executions(key), cutListeners(), stop() }`. */
export async function startTypeScriptServer(options) {
  const server = new TypeScriptServer(options);
  const listener = createServer(async (request, response) => {
    await server.answer(request, response, request.method === "POST" ? await json(request) : undefined);
  });
  return {
    url: `${await listen(listener)}/mcp`,
    executions: async (key) => server.executions.get(key) ?? 0,
    cutListeners: () => server.cutListeners(),
    async stop() {
      await server.close();
      await stopListening(listener);
    },
  };
}

/** Returns its origin. */
export async function listen(listener) {
  await new Promise((resolve) => listener.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${listener.address().port}`;
}

export function stopListening(listener) {
  const closed = new Promise((resolve) => listener.close(resolve));
  listener.closeAllConnections();
  return closed;
}

export class TypeScriptServer {
  executions = new Map();
  #grown = new Set();
  #sessions = new Map();
  #listeners = new Set();

  /** Unless `modern`, there is 2025-11-25 only. */
  constructor({ modern = true, retryMs = 50 } = {}) {
    this.isModern = modern;
    this.retryMs = retryMs;
    this.modern = createMcpHandler(() => this.#newServer(), { legacy: "reject" });
    this.answerModern = toNodeHandler(this.modern);
  }

  async answer(request, response, body) {
    this.#noteListener(request, response, body);
    const isModern = this.isModern && !(await isLegacyRequest(await toWebRequest(request, body)));
    await (isModern
      ? this.answerModern(request, response, body)
      : this.#answerInSession(request, response, body));
  }

  async #answerInSession(request, response, body) {
    const transport =
      this.#sessions.get(request.headers["mcp-session-id"]) ??
      (body?.method === "initialize" ? await this.#newSession() : undefined);
    if (!transport) {
      response.writeHead(request.headers["mcp-session-id"] ? 404 : 400).end();
      return;
    }
    await transport.handleRequest(request, response, body);
  }

  /** Knows the connections whose streams belong to no call. */
  #noteListener({ method, headers, socket }, response, body) {
    const listens = method === "GET" ? !headers["last-event-id"] : body?.method === "subscriptions/listen";
    if (!listens) return;
    this.#listeners.add(socket);
    response.once("close", () => this.#listeners.delete(socket));
  }

  /** Resets them, and returns how many there were. */
  cutListeners() {
    const sockets = [...this.#listeners];
    for (const socket of sockets) socket.resetAndDestroy();
    return sockets.length;
  }

  async close() {
    await this.modern.close();
    await Promise.all([...this.#sessions.values()].map((transport) => transport.close()));
  }

  async #newSession() {
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: new InMemoryEventStore(),
      retryInterval: this.retryMs,
      onsessioninitialized: (id) => this.#sessions.set(id, transport),
      onsessionclosed: (id) => this.#sessions.delete(id),
    });
    await this.#newServer().connect(transport);
    return transport;
  }

  #newServer() {
    const server = new McpServer(
      { name: "landfall-migration", version: "1.0.0" },
      { capabilities: { logging: {} } },
    );
    this.#addPlainTools(server);
    this.#addStreamingTools(server);
    this.#addAskingTools(server);
    for (const name of this.#grown) addLeaf(server, name);
    server.registerTool("grow", { inputSchema: z.object({ name: z.string() }) }, ({ name }) => {
      this.#grown.add(name);
      addLeaf(server, name);
      this.modern.notify.toolsChanged();
      return text(name);
    });
    return server;
  }

  #addPlainTools(server) {
    server.registerTool(
      "add",
      { inputSchema: z.object({ a: z.number(), b: z.number() }), annotations: { readOnlyHint: true } },
      ({ a, b }) => text(a + b),
    );
  }

  #addStreamingTools(server) {
    const narrate = async ({ lines, interval_ms, key }, { mcpReq }) => {
      this.#count(key);
      for (let line = 1; line <= lines; line += 1) {
        await sleep(interval_ms);
        await progress(mcpReq, line, lines);
        await say(mcpReq, `line ${line}`);
      }
      return text(`${lines} lines`);
    };
    const inputSchema = z.object({ lines: z.number(), interval_ms: z.number().default(10), key: z.string() });
    server.registerTool("narrate", { inputSchema }, narrate);
    server.registerTool("recite", { inputSchema, annotations: { readOnlyHint: true } }, narrate);
    server.registerTool(
      "process_batch",
      {
        inputSchema: z.object({
          items: z.number(),
          checkpoint_every: z.number(),
          interval_ms: z.number(),
          key: z.string(),
        }),
      },
      async ({ items, checkpoint_every, interval_ms, key }, { mcpReq, http }) => {
        this.#count(key);
        for (let item = 1; item <= items; item += 1) {
          await sleep(interval_ms);
          await say(mcpReq, `[${item}/${items}] item ${item}`);
          if (item % checkpoint_every === 0 && item < items) {
            await say(mcpReq, `checkpoint at item ${item}`);
            http.closeSSE?.();
          }
        }
        return text(`${items} items processed`);
      },
    );
  }

  /** Each asks the client: by a request of its own in a session, by its result at 2026-07-28. */
  #addAskingTools(server) {
    const asking = (name, shape, question, answer) =>
      server.registerTool(
        name,
        { inputSchema: z.object({ ...shape, key: z.string() }) },
        (args, { mcpReq }) => {
          const given = answer(mcpReq.inputResponses);
          return given === undefined
            ? inputRequired({ inputRequests: { asked: question(args) } })
            : text(given);
        },
      );
    const choice = z.object({ colour: z.string() });
    asking(
      "choose",
      { question: z.string() },
      ({ question }) => inputRequired.elicit({ message: question, requestedSchema: choice }),
      (responses) => acceptedContent(responses, "asked", choice)?.colour,
    );
    asking(
      "summarize",
      { text: z.string() },
      (args) =>
        inputRequired.createMessage({
          messages: [{ role: "user", content: { type: "text", text: args.text } }],
          maxTokens: 100,
        }),
      (responses) => inputResponse(responses, "asked")?.result?.content.text,
    );
    asking(
      "show_roots",
      {},
      () => inputRequired.listRoots(),
      (responses) =>
        inputResponse(responses, "asked")
          ?.roots?.map(({ uri }) => uri)
          .join(" "),
    );
  }

  #count(key) {
    this.executions.set(key, (this.executions.get(key) ?? 0) + 1);
  }
}

const addLeaf = (server, name) => server.registerTool(name, {}, () => text(name));

const say = (mcpReq, data) =>
  mcpReq.notify({ method: "notifications/message", params: { level: "info", data } });

async function progress(mcpReq, done, total) {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return;
  await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress: done, total } });
}
