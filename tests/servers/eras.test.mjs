// The servers of each era, by plain requests: that they are what eras.mjs says they are.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ModernClient } from "../server/modern/plain-client.mjs";
import { PlainClient, readEvents } from "../server/plain-client.mjs";
import { PlainSse } from "../server/plain-sse.mjs";
import { ERA_SERVERS } from "./eras.mjs";
import { missing } from "./servers.mjs";
import { start } from "./start.mjs";

const CALL = { name: "count", arguments: { steps: 2, interval_ms: 20 }, _meta: { progressToken: "t" } };
const callOf = (key) => ({ ...CALL, arguments: { ...CALL.arguments, key } });
const restOf = (key) => ({ name: "rest", arguments: { key }, _meta: { progressToken: "r" } });

async function answerTo(response) {
  if (/json/.test(response.headers.get("content-type"))) return [await response.json()];
  return (await readEvents(response)).events.flatMap(({ message }) => message ?? []);
}

/** By era, `(url, protocolVersion)` gives `{ version, list(), call(params), cancel(params) }`; `call` gives all messages, the answer last. */
const CLIENTS = {
  async modern(url) {
    const client = new ModernClient(url, { elicitation: {} });
    const { supportedVersions } = await client.ask("server/discover");
    const call = async ({ _meta, ...params }) =>
      answerTo(await client.request("tools/call", params, { meta: _meta }));
    return {
      version: supportedVersions[0],
      list: async () => (await client.ask("tools/list")).tools,
      call,
      async cancel({ _meta, ...params }) {
        const { signal, abort } = aborter();
        const response = await client.request("tools/call", params, { meta: _meta, signal });
        await response.body.getReader().read();
        abort();
      },
      close: () => {},
    };
  },
  async legacy(url) {
    const client = await PlainClient.open(url);
    const request = async (method, params) => answerTo(await client.request(method, params));
    return {
      version: client.version,
      list: async () => (await request("tools/list")).at(-1).result.tools,
      call: (params) => request("tools/call", params),
      async cancel(params) {
        const response = await client.post({ id: "rest", method: "tools/call", params });
        await response.body.getReader().read();
        await client.post({ method: "notifications/cancelled", params: { requestId: "rest" } });
      },
      close: () => {},
    };
  },
  async sse(url, protocolVersion) {
    const client = await PlainSse.open(url, protocolVersion);
    return {
      version: client.server.protocolVersion,
      list: async () => (await client.request("tools/list")).tools,
      async call(params) {
        const result = await client.request("tools/call", params);
        return [...client.notifications, { result }];
      },
      async cancel(params) {
        client.request("tools/call", params, "rest").catch(() => {});
        while (!client.notifications.some(({ params }) => params?.progressToken === "r")) await sleep(10);
        await client.post({ method: "notifications/cancelled", params: { requestId: "rest" } });
      },
      close: () => client.close(),
    };
  },
};

function aborter() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}

const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "plain", version: "1.0.0" },
  },
};

const post = (url, message) =>
  fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify(message),
  });

/** What it says to a client of 2025 that begins: `session`, `no session` or the status. */
async function greeting(url) {
  const response = await post(url, INITIALIZE);
  await response.body?.cancel();
  if (!response.ok) return response.status;
  return response.headers.has("mcp-session-id") ? "session" : "no session";
}

async function greetingOf({ era, name }) {
  if (era === "sse") return [404, 405];
  if (era === "legacy") return ["session"];
  return name.endsWith("stateless") ? ["no session"] : [400];
}

for (const kind of ERA_SERVERS) {
  const skip = missing(kind).length > 0 && `not installed: ${missing(kind).join(", ")}`;
  describe(kind.name, { skip, timeout: 60_000 }, () => {
    let server;
    let client;
    before(async () => {
      server = await start(kind);
      client = await CLIENTS[kind.era](server.url, kind.protocolVersion);
    });
    after(async () => {
      client?.close();
      await server?.stop();
    });

    test("it greets a client that begins with initialize as one of its kind does", async () => {
      assert.ok((await greetingOf(kind)).includes(await greeting(server.url)));
    });

    test("it speaks the version, and has the tools", async () => {
      assert.equal(client.version, kind.protocolVersion);
      const names = (await client.list()).map(({ name }) => name);
      for (const name of ["count", "recite", "rest", "grow"]) assert.ok(names.includes(name), name);
      assert.equal(names.includes("choose"), kind.asks === true);
    });

    test("a call runs its tool once, and tells its progress", async () => {
      const messages = await client.call(callOf("once"));
      const progress = messages.filter(({ method }) => method === "notifications/progress");
      assert.deepEqual(
        progress.map(({ params }) => [params.progressToken, params.progress]),
        [
          ["t", 1],
          ["t", 2],
        ],
      );
      assert.equal(messages.at(-1).result.content[0].text, "2 steps");
      assert.deepEqual(await server.counts("once"), { ran: 1, cancelled: 0 });
    });

    test(`a call is cancelled by ${kind.cancels === "close" ? "closing its stream" : "a message"}`, async () => {
      await client.cancel(restOf("rest"));
      while ((await server.counts("rest")).cancelled === 0) await sleep(20);
      assert.deepEqual(await server.counts("rest"), { ran: 1, cancelled: 1 });
    });

    if (kind.asks) {
      test("a tool asks by its result, and goes on with the answer", async () => {
        const params = { name: "choose", arguments: { key: "choose" } };
        const { result } = (await client.call(params)).at(-1);
        assert.equal(result.resultType, "input_required");
        const [[key, { method }]] = Object.entries(result.inputRequests);
        assert.equal(method, "elicitation/create");
        const inputResponses = { [key]: { action: "accept", content: { colour: "blue" } } };
        const { requestState } = result;
        const last = (await client.call({ ...params, inputResponses, requestState })).at(-1);
        assert.equal(last.result.content[0].text, "blue");
      });
    }
  });
}
