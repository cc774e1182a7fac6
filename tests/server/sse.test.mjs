// The server of HTTP+SSE: sessions that live as long as their stream, endpoints as they are told, and scripts.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { PlainSse } from "./plain-sse.mjs";
import { createSseServer } from "./sse.mjs";

let server;
before(async () => {
  server = await createSseServer();
});
afterEach(() => server.reset());
after(() => server.close());

const withFaults = (faults) => `${server.url}?faults=${encodeURIComponent(JSON.stringify(faults))}`;
async function until(condition) {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}
const ended = (client) => client.ended.then(...[() => "end", () => "cut"]);

test("a stream gives an endpoint, and answers to what is posted there", async () => {
  const client = await PlainSse.open(server.url);
  assert.equal(client.server.protocolVersion, "2024-11-05");
  assert.equal((await client.request("tools/list")).tools[0].name, "process_batch");
  const steps = [{ progress: 1 }, { message: "one" }, { wait: 10 }];
  const { structuredContent } = await client.script("plain", steps, { _meta: { progressToken: 7 } });
  assert.equal(structuredContent.execution, 1);
  assert.deepEqual(
    client.notifications.map(({ method }) => method),
    ["notifications/progress", "notifications/message"],
  );
  assert.equal(server.executions("plain"), 1);
  assert.equal(server.sessions, 1);
  client.close();
  await until(() => server.sessions === 0);
});

test("calls share the stream, and one is cancelled by a message", async () => {
  const client = await PlainSse.open(server.url);
  client.script("long", [{ wait: 10_000 }], { id: "long" });
  await client.script("short", []);
  await client.post({ method: "notifications/cancelled", params: { requestId: "long" } });
  await until(() => server.cancels("long") === 1);
  assert.equal((await client.script("after", [])).structuredContent.key, "after");
  client.close();
});

for (const [how, step] of [
  ["end", { close: true }],
  ["cut", { cut: "fin" }],
  ["cut", { cut: "rst" }],
  ["cut", { cut: "inside" }],
]) {
  test(`a stream that is gone by ${JSON.stringify(step)} is the end of its session and its calls`, async () => {
    const client = await PlainSse.open(server.url);
    const message = step.cut === "inside" ? [{ message: "half" }] : [];
    client.script("gone", [{ wait: 10 }, step, ...message, { wait: 10_000 }]);
    client.script("on", [{ ignoreCancel: true }, { wait: 100 }]).catch(() => {});
    assert.equal(await ended(client), how);
    await until(() => server.cancels("gone") === 1);
    const { status } = await client.post({ id: 9, method: "ping" });
    assert.equal(status, 404);
    assert.equal(server.log.at(-1).rpc, "ping");
  });
}

test("the endpoint is what the address says, late, not at all, or that of the session before", async () => {
  const told = async (endpoint) => (await PlainSse.listen(withFaults({ endpoint }))).endpoint.href;
  assert.equal(await told({ data: "http://other.test/messages" }), "http://other.test/messages");
  assert.match(await told({ data: "http://user:pass@{host}/messages?{query}" }), /^http:\/\/user:pass@127/);
  const first = await told({ delayMs: 20 });
  assert.equal(await told({ again: true }), first);
  const stop = AbortSignal.timeout(100);
  const silent = await fetch(withFaults({ endpoint: { withhold: true } }), { signal: stop });
  await assert.rejects(silent.text(), { name: "TimeoutError" });
});

test("faults strike a GET or a POST, after so many and so often, before any event", async () => {
  const faults = {
    GET: { status: 503, times: 1 },
    ping: { status: 429, after: 1, headers: { "retry-after": "1" } },
  };
  assert.equal((await fetch(withFaults(faults))).status, 503);
  const client = await PlainSse.open(withFaults(faults));
  assert.equal((await client.post({ id: 1, method: "ping" })).status, 202);
  assert.equal((await client.post({ id: 2, method: "ping" })).status, 429);
  const post = { cutBeforeHeaders: true, execute: true };
  await assert.rejects(client.script("cut", [], { post }));
  assert.equal(server.executions("cut"), 1);
  client.close();
});

test("what is asked of another path, or by a POST of the stream's, is not known there", async () => {
  const post = await fetch(server.url, { method: "POST", body: "{}" });
  assert.equal(post.status, 404);
  assert.equal((await fetch(`${server.origin}/mcp`)).status, 404);
});

test("an endpoint can come again in the middle of the stream", async () => {
  const client = await PlainSse.open(server.url);
  const before = client.endpoint.href;
  await client.script("moved", [{ endpoint: "/elsewhere" }]);
  assert.equal(client.endpoint.href, before, "this client looks at the first alone");
  client.close();
});

test("a session that is dropped is dropped for all", async () => {
  const clients = await Promise.all([PlainSse.open(server.url), PlainSse.open(server.url)]);
  server.drop("close");
  assert.deepEqual(await Promise.all(clients.map(ended)), ["end", "end"]);
  await until(() => server.sessions === 0);
});
