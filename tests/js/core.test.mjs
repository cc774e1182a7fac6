// The wrapper and the real core, over a `fetch` of the test's.
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect } from "../../target/modules/entry/index.js";
import { eventsOf, turn } from "./support/fake-core.mjs";
import { eventStream, stubServer } from "./support/stub-server.mjs";

const address = "https://server.test/mcp";
const options = { era: "resumable" };
const open = (server, more = {}) => connect(address, { ...options, fetch: server.fetch, ...more });

/** Waits until something is so; the test's own time limit ends it otherwise. */
async function until(holds) {
  while (!holds()) await turn();
}

test("a session is opened, a tool is called and answers by JSON, and close ends it with a DELETE", async () => {
  const server = stubServer();
  const session = await open(server, {
    clientInfo: { name: "me", version: "2" },
    capabilities: { roots: {} },
  });
  assert.equal(session.era, "legacy");
  assert.equal(session.sessionId, "stub-1");
  assert.deepEqual(session.serverInfo, { name: "stub", version: "1" });
  const result = await session.callTool("work", { n: 1 }).result;
  assert.equal(result.content[0].text, "done");
  await session.close();
  const [first, second, third, last] = server.requests;
  assert.equal(first.body.method, "initialize");
  assert.deepEqual(first.body.params.clientInfo, { name: "me", version: "2" });
  assert.deepEqual(first.body.params.capabilities, { roots: {} });
  assert.equal(second.body.method, "notifications/initialized");
  assert.equal(third.headers.get("mcp-session-id"), "stub-1");
  assert.deepEqual(
    { ...third.body.params, _meta: undefined },
    { name: "work", arguments: { n: 1 }, _meta: undefined },
  );
  assert.equal(third.body.params._meta.progressToken, third.body.id);
  assert.equal(last.method, "DELETE");
  assert.equal(server.requests.length, 4);
});

test("a streamed call gives progress, messages and the result, in order", async () => {
  const stream = eventStream();
  const server = stubServer(({ body }) => (body?.method === "tools/call" ? stream.response : undefined));
  const session = await open(server);
  const call = session.callTool("work");
  await until(() => server.posted().includes("tools/call"));
  const token = call.id;
  stream.event({
    method: "notifications/progress",
    params: { progressToken: token, progress: 1, total: 2, message: "half" },
  });
  stream.event({ method: "notifications/message", params: { level: "info", data: "näher" } });
  stream.event({ id: call.id, result: { content: [] } });
  const events = await eventsOf(call);
  const seen = events.filter(({ type }) => type !== "sent" && type !== "open" && type !== "queued");
  for (const event of events) {
    assert.equal(event.requestId, call.id);
    assert.ok(Math.abs(event.at - Date.now()) < 10_000);
  }
  assert.deepEqual(
    seen.map(({ at, requestId, ...rest }) => rest),
    [
      { type: "progress", progress: 1, total: 2, message: "half" },
      {
        type: "message",
        message: {
          jsonrpc: "2.0",
          method: "notifications/message",
          params: { level: "info", data: "näher" },
        },
      },
      { type: "result", result: { content: [] } },
    ],
  );
  await until(() => stream.isCancelled);
  await session.close();
});

test("a cancel settles at once, tells the server, and ends the stream", async () => {
  const stream = eventStream();
  const server = stubServer(({ body }) => (body?.method === "tools/call" ? stream.response : undefined));
  const session = await open(server);
  const controller = new AbortController();
  const call = session.callTool("work", {}, { signal: controller.signal });
  await until(() => server.posted().includes("tools/call"));
  controller.abort();
  await assert.rejects(call.result, { name: "ToolCallFailedError", reason: "cancelled", outcome: "unknown" });
  await until(() => stream.isCancelled);
  await until(() => server.posted().includes("notifications/cancelled"));
  const cancelled = server.requests.find(({ body }) => body?.method === "notifications/cancelled");
  assert.equal(cancelled.body.params.requestId, call.id);
  await session.close();
});

test("a call whose signal was aborted beforehand is never sent", async () => {
  const server = stubServer();
  const session = await open(server);
  const call = session.callTool("work", {}, { signal: AbortSignal.abort() });
  await assert.rejects(call.result, { reason: "cancelled", outcome: "not_sent", retrySafe: true });
  await session.close();
  assert.ok(!server.posted().includes("tools/call"));
  assert.ok(!server.posted().includes("notifications/cancelled"));
});

test("headers of the session and of a call go where they belong", async () => {
  const server = stubServer();
  let n = 0;
  const session = await open(server, { headers: () => ({ authorization: `Bearer ${++n}` }) });
  await session.callTool("work", {}, { headers: { "x-trace": "t" } }).result;
  await session.callTool("work").result;
  await session.close();
  assert.deepEqual(
    server.requests.map(({ headers }) => [headers.get("authorization"), headers.get("x-trace")]),
    [1, 2, 3, 4, 5].map((each) => [`Bearer ${each}`, each === 3 ? "t" : null]),
  );
});

test("an error of the server's is a ServerError, and a refusal of its HTTP a ToolCallFailedError", async () => {
  const server = stubServer(({ body }) => {
    if (body?.method !== "tools/call") return undefined;
    if (body.params.name === "http") return new Response("no", { status: 500 });
    return { jsonrpc: "2.0", id: body.id, error: { code: -32602, message: "Unknown tool", data: 1 } };
  });
  const session = await open(server);
  await assert.rejects(session.callTool("rpc").result, { name: "ServerError", code: -32602, data: 1 });
  const thrown = await session.callTool("http").result.catch((caught) => caught);
  assert.equal(thrown.reason, "http_error");
  assert.equal(thrown.tool, "http");
  assert.equal(thrown.diagnostics.lastStatus, 500);
  await session.close();
});

test("a fetch that rejects, throws or gives no Response fails the call, not the session", async () => {
  let broken;
  const server = stubServer();
  const fetch = (url, init) => {
    if (broken !== undefined && init.body?.includes("tools/call")) return broken();
    return server.fetch(url, init);
  };
  const session = await connect(address, { ...options, fetch });
  const ways = [
    () => Promise.reject(new TypeError("fetch failed")),
    () => {
      throw new Error("thrown");
    },
    () => undefined,
    () => Promise.resolve({ status: 200 }),
    () => Promise.reject(undefined),
  ];
  for (broken of ways) await assert.rejects(session.callTool("work").result, { reason: "network_error" });
  broken = () =>
    Promise.reject(Object.assign(new TypeError("fetch failed"), { cause: { code: "ECONNREFUSED" } }));
  // It waits for a server that is not there.
  const soon = { timeouts: { connectMs: 50 } };
  const unsent = { reason: "network_error", outcome: "not_sent" };
  await assert.rejects(session.callTool("work", {}, soon).result, unsent);
  broken = undefined;
  await session.callTool("work").result;
  await session.close();
});

test("connect rejects where the server refuses, and leaves nothing behind", async () => {
  const server = stubServer(() => new Response("no", { status: 401 }));
  const thrown = await open(server).catch((caught) => caught);
  assert.equal(thrown.name, "ToolCallFailedError");
  assert.equal(thrown.method, "initialize");
  assert.equal(thrown.reason, "unauthorized");
  assert.equal(thrown.outcome, "rejected");
});

test("clocks that contradict each other are a ConfigError, at construction and per call", async () => {
  const server = stubServer();
  for (const timeouts of [
    { connectMs: 500, idleMs: 400 },
    { callMs: 9, recoveryMs: 5 },
    { idleMs: Number.NaN },
    { callMs: 0 },
  ]) {
    await assert.rejects(open(server, { timeouts }), { name: "ConfigError" });
  }
  assert.equal(server.requests.length, 0);
  const session = await open(server);
  assert.throws(() => session.callTool("work", {}, { timeouts: { callMs: Number.POSITIVE_INFINITY } }), {
    name: "ConfigError",
    option: "callMs",
  });
  await session.close();
});

test("notify resolves when the server took it, and rejects where it refused", async () => {
  const server = stubServer(({ body }) =>
    body?.method === "notifications/bad" ? new Response("no", { status: 400 }) : undefined,
  );
  const session = await open(server);
  await session.notify("notifications/roots/list_changed");
  await session.notify("notifications/x", { n: 1 });
  await assert.rejects(session.notify("notifications/bad"), { name: "ToolCallFailedError" });
  const [, , bare, full] = server.requests;
  assert.equal("params" in bare.body, false);
  assert.deepEqual(full.body.params, { n: 1 });
  await session.close();
});

test("close settles what is pending, is idempotent, and silent afterwards", async () => {
  const stream = eventStream();
  const server = stubServer(({ body }) => (body?.method === "tools/call" ? stream.response : undefined));
  const events = [];
  const session = await open(server, { onEvent: (event) => void events.push(event.type) });
  const call = session.callTool("work");
  await until(() => server.posted().includes("tools/call"));
  const closing = session.close();
  await assert.rejects(call.result, { reason: "closed" });
  await closing;
  await session.close();
  const { length } = server.requests;
  const told = events.length;
  assert.equal(server.requests.filter(({ method }) => method === "DELETE").length, 1);
  assert.ok(stream.isCancelled);
  await assert.rejects(session.callTool("work").result, { reason: "closed", outcome: "not_sent" });
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(server.requests.length, length);
  assert.equal(events.length, told);
});

test("terminateSessionOnClose: false sends no DELETE", async () => {
  const server = stubServer();
  const session = await open(server, { terminateSessionOnClose: false });
  await session.close();
  assert.ok(server.requests.every(({ method }) => method === "POST"));
});

test("many sessions run side by side, each with its own answers", async () => {
  const server = stubServer(({ body }) =>
    body?.method === "tools/call"
      ? { jsonrpc: "2.0", id: body.id, result: { echo: body.params.arguments.n } }
      : undefined,
  );
  const sessions = await Promise.all(Array.from({ length: 30 }, () => open(server)));
  const results = await Promise.all(
    sessions.flatMap((session, i) => [0, 1, 2].map((k) => session.callTool("echo", { n: i * 3 + k }).result)),
  );
  assert.deepEqual(
    results.map(({ echo }) => echo),
    Array.from({ length: 90 }, (_, n) => n),
  );
  await Promise.all(sessions.map((session) => session.close()));
});
