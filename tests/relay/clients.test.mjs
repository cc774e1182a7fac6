// The official Clients, landfall's own, and what passes both ways.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
} from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { cutter } from "./cutter.mjs";
import { Blocks, blocks, Clock, call, landfall, Raw, stage, until } from "./stage.mjs";

const info = { name: "client", version: "1" };
const form = { capabilities: { elicitation: { form: {} } } };
const textOf = (result) => result.content[0].text;
const accept = async () => ({ action: "accept", content: { name: "Ann" } });

const clients = {
  "SDK 1": async (url) => {
    const client = new ClientV1(info, form);
    client.setRequestHandler(ElicitRequestSchema, accept);
    await client.connect(new TransportV1(new URL(url)));
    return {
      call: (name, args, onprogress) => client.callTool({ name, arguments: args }, undefined, { onprogress }),
      tools: async () => (await client.listTools()).tools,
      close: () => client.close(),
    };
  },
  "SDK 2": async (url, options = {}) => {
    const client = new ClientV2(info, { ...form, ...options });
    client.setRequestHandler("elicitation/create", accept);
    await client.connect(new TransportV2(new URL(url)));
    return {
      call: (name, args, onprogress) => client.callTool({ name, arguments: args }, { onprogress }),
      tools: async () => (await client.listTools()).tools,
      close: () => client.close(),
    };
  },
  "SDK 2, which asks for the era without sessions first": (url) =>
    clients["SDK 2"](url, { versionNegotiation: { mode: "auto" } }),
  landfall: async (url) => {
    const session = await landfall.connect(url, { ...form, relay: true, onRequest: accept });
    return {
      async call(name, args, onprogress) {
        const made = session.callTool(name, args);
        for await (const event of made) if (event.type === "progress") onprogress?.(event);
        return made.result;
      },
      tools: () => session.listTools(),
      close: () => session.close(),
    };
  },
};

for (const [name, open] of Object.entries(clients))
  for (const json of [false, true])
    describe(`${name} before a server that answers by ${json ? "JSON" : "streams"}`, () => {
      let at;
      before(async () => {
        at = await stage({ server: { json } });
      });
      after(() => at.close());

      test("lists, calls, hears progress, and goes", async () => {
        const client = await open(at.url);
        assert.ok((await client.tools()).length > 3);
        assert.equal(textOf(await client.call("count", { key: "c" })), "run 1");
        at.upstream.release("h");
        const told = [];
        const held = await client.call("hold", { key: "h", steps: 3 }, ({ progress }) => told.push(progress));
        assert.equal(textOf(held), "held h");
        if (!json) assert.deepEqual(told, [1, 2, 3]);
        await client.close();
      });

      test("is carried through a cut of five seconds without a word, and the tool runs once", async (t) => {
        const line = await cutter(at.url);
        t.after(() => line.close());
        const client = await open(line.url);
        const made = client.call("hold", { key: "cut" });
        await until(() => at.upstream.runs("cut") === 1, "the run");
        line.cut(300);
        setTimeout(() => at.upstream.release("cut"), 100);
        assert.equal(textOf(await made), "held cut");
        assert.equal(at.upstream.runs("cut"), 1);
        await client.close();
      });

      // By JSON a server can ask on its GET stream alone, and this one asks in its call.
      if (json) return;
      test("answers what the server asks", async () => {
        const client = await open(at.url);
        const answer = JSON.parse(textOf(await client.call("ask", { key: "asked" })));
        assert.deepEqual([answer.action, answer.content], ["accept", { name: "Ann" }]);
        await client.close();
      });
    });

test("a Client that goes on with a session, and counts its ids from 0 again, gets answers of its own", async (t) => {
  const at = await stage({ env: { REPEAT_MS: "1" } });
  t.after(() => at.close());
  const first = new ClientV1(info);
  const transport = new TransportV1(new URL(at.url));
  await first.connect(transport);
  const ask = (client, key) => client.callTool({ name: "count", arguments: { key } });
  assert.equal(textOf(await ask(first, "a")), "run 1");
  const { sessionId } = transport;
  await first.close();
  const second = new ClientV1(info);
  await second.connect(new TransportV1(new URL(at.url), { sessionId }));
  assert.equal(textOf(await ask(second, "b")), "run 1");
  assert.equal(textOf(await ask(second, "a")), "run 2");
  await second.close();
});

test("lists that changed, levels, resources and prompts pass both ways", async (t) => {
  const at = await stage();
  t.after(() => at.close());
  const heard = [];
  const session = await landfall.connect(at.url, { onEvent: (event) => heard.push(event) });
  await session.callTool("touch");
  const isChange = ({ type, message }) =>
    type === "message" && message.method === "notifications/tools/list_changed";
  await until(() => heard.some(isChange), "the change");
  await session.request("logging/setLevel", { level: "warning" });
  const read = await session.request("resources/read", { uri: "test://seven" });
  assert.equal(read.contents[0].text, "test://seven");
  assert.equal((await session.request("prompts/get", { name: "greet" })).messages.length, 1);
  await assert.rejects(session.request("prompts/get", { name: "none" }), { name: "ServerError" });
  await assert.rejects(session.request("no/such", {}), { name: "ServerError", code: -32601 });
  await session.close();
  assert.equal(at.upstream.sessions.size, 0, "its session was ended");
});

test("a question goes out on the stream of its call, and is answered -32000 when nobody is there to answer", async (t) => {
  const clock = new Clock();
  const at = await stage({ clock });
  t.after(() => at.close());
  const raw = new Raw(at.url);
  await raw.initialize({ capabilities: { elicitation: { form: {} } } });
  const reader = new Blocks(await raw.post(call(1, "ask", { key: "q" })));
  const { data } = await reader.message();
  assert.equal(data.method, "elicitation/create");
  assert.match(data.id, /^ask-/);
  const answer = { jsonrpc: "2.0", id: data.id, error: { code: -1, message: "no" } };
  assert.equal((await raw.post(answer)).status, 202);
  assert.match(textOf((await reader.message()).data.result), /^refused -1 .*no/);
  // The same answer again answers nothing.
  assert.equal((await raw.post(answer)).status, 202);

  const gone = new AbortController();
  const other = new Blocks(await raw.post(call(2, "ask", { key: "r" }), { signal: gone.signal }));
  const asked = (await other.message()).data;
  assert.notEqual(asked.id, data.id);
  gone.abort();
  await until(() => /drops_total 1/.test(at.relay.register.metrics()), "the drop");
  await clock.pass(61_000);
  await until(
    () =>
      at.upstream.log.some(
        ({ body }) => body?.error?.code === -32000 || body?.method === "notifications/cancelled",
      ),
    "a word",
  );
});

test("what belongs to no call waits for a GET, which takes over from the one before", async (t) => {
  const at = await stage();
  t.after(() => at.close());
  const raw = new Raw(at.url);
  await raw.initialize();
  await blocks(await raw.post(call(1, "touch")));
  const reader = new Blocks(await raw.get());
  const { id, data } = await reader.message();
  assert.equal(data.method, "notifications/tools/list_changed");
  const over = await raw.get(id);
  assert.equal(over.status, 200);
  while ((await reader.next()) !== undefined);
  await blocks(await raw.post(call(2, "touch")));
  const next = new Blocks(over);
  const block = await next.message();
  assert.notEqual(block.id, id);
  assert.equal(block.data.method, "notifications/tools/list_changed");
  await next.cancel();
});

test("arrays are of 2025-03-26 alone, and are answered on one stream", async (t) => {
  const at = await stage();
  t.after(() => at.close());
  const old = new Raw(at.url);
  await old.initialize({ version: "2025-03-26" });
  const batch = [
    call(1, "count", { key: "b1" }),
    call("2", "count", { key: "b2" }),
    { jsonrpc: "2.0", id: 3, method: "ping" },
  ];
  const read = await blocks(await old.post(batch));
  const ids = read.filter(({ data }) => data).map(({ data }) => data.id);
  assert.deepEqual(new Set(ids), new Set([1, "2", 3]));
  const raw = new Raw(at.url);
  await raw.initialize();
  assert.equal((await raw.post(batch)).status, 400);
});

test("a failure behind the relay is told with its reason, and landfall's client tells it as one", async (t) => {
  const at = await stage();
  t.after(() => at.close());
  const session = await landfall.connect(at.url, { relay: true });
  assert.equal(textOf(await session.callTool("count", { key: "ok" })), "run 1");
  at.upstream.forget();
  const failed = await session.callTool("count", { key: "lost" }).result.catch((error) => error);
  assert.equal(failed.name, "ToolCallFailedError");
  assert.equal(failed.reason, "session_lost");
  assert.doesNotMatch(failed.message, new RegExp(new URL(at.upstream.url).port));
  // The next call begins another session.
  assert.equal(textOf(await session.callTool("count", { key: "ok" })), "run 2");
  await session.close();
});

test("a call of landfall's whose headers never came is sent again by its key, and runs once", async (t) => {
  const at = await stage();
  t.after(() => at.close());
  let lost = 0;
  const session = await landfall.connect(at.url, {
    ...{ relay: true, retry: { baseMs: 10, maxMs: 20 } },
    async fetch(url, init) {
      const response = await fetch(url, init);
      if (lost > 0 || !String(init.body).includes("tools/call")) return response;
      lost += 1;
      await until(() => at.upstream.runs("once") === 1, "the run");
      await response.body.cancel();
      throw new TypeError("fetch failed");
    },
  });
  const made = session.callTool("hold", { key: "once" });
  const told = [];
  for await (const event of made) {
    told.push(event.type);
    if (event.type === "reissued") at.upstream.release("once");
  }
  assert.equal(textOf(await made), "held once");
  assert.ok(told.includes("reissued"), told.join());
  assert.equal(at.upstream.runs("once"), 1);
  assert.match(at.relay.register.metrics(), /resumes_total\{kind="key",result="attached"\} 1\n/);
  await session.close();
});
