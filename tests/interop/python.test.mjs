// The built package against a server on the official Python SDK, with real cuts in between.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { connect, ToolCallFailedError } from "../../target/npm/entry/index.js";
import { createCuttingProxy } from "./proxy.mjs";
import { startPythonServer } from "./python-server.mjs";

const ITEMS = 20;
const CHECKPOINT_EVERY = 5;

/** Three cuts of an open body between the checkpoints: after items 3, 8 and, inside the next event, 12. */
const THREE_CUTS = [
  { after: 3, how: "fin" },
  { after: 9, how: "rst" },
  { after: 14, how: "fin", inside: true },
];
const plans = new Map();

let python;
let proxy;
before(async () => {
  python = await startPythonServer();
  proxy = await createCuttingProxy({ upstream: python.url, plan: (key) => plans.get(key) ?? [] });
});
after(async () => {
  await proxy?.close();
  await python?.stop();
});

const open = (options) => connect(proxy.url, { era: "resumable", ...options });

async function finish(call) {
  const events = [];
  for await (const event of call) events.push(event);
  return { events, result: await call.result };
}

const batch = (session, key) =>
  session.callTool("process_batch", {
    items: ITEMS,
    checkpoint_every: CHECKPOINT_EVERY,
    interval_ms: 30,
    key,
  });

const expectedMessages = () =>
  Array.from({ length: ITEMS }, (_, index) => index + 1).flatMap((item) => [
    `[${item}/${ITEMS}] item ${item}`,
    ...(item % CHECKPOINT_EVERY === 0 && item < ITEMS ? [`checkpoint at item ${item}`] : []),
  ]);

const messages = (events) =>
  events.flatMap(({ type, message }) => (type === "message" ? [message.params.data] : []));
const faultsOf = (key) => proxy.faults.filter((fault) => fault.key === key);

async function assertOneCleanRun({ events, result }, key) {
  assert.deepEqual(messages(events), expectedMessages());
  assert.equal(result.content[0].text, `${ITEMS} items processed`);
  assert.equal(events.at(-1).type, "result");
  assert.equal(events.filter(({ type }) => type === "result").length, 1);
  assert.equal(await python.executions(key), 1);
}

function assertThreeCuts(key) {
  const faults = faultsOf(key);
  assert.equal(faults.length, 3);
  assert.ok(faults.every(({ bodyOpen }) => bodyOpen));
  assert.ok(faults.every(({ headersSent }) => headersSent));
  assert.equal(faults.filter(({ insideEvent }) => insideEvent).length, 1);
  assert.equal(faults.filter(({ how }) => how === "rst").length, 1);
}

test("a call whose stream is closed at checkpoints runs through", { timeout: 30_000 }, async () => {
  const session = await open();
  const done = await finish(batch(session, "calm"));
  await assertOneCleanRun(done, "calm");
  assert.equal(done.events.filter(({ type }) => type === "polling").length, 3);
  await session.close();
  assert.equal(proxy.exchanges.findLast(({ method }) => method === "DELETE").status, 200);
});

test("a call that is cut three times as well gets every message once, in order, and runs once", {
  timeout: 30_000,
}, async () => {
  plans.set("cut", THREE_CUTS);
  const session = await open();
  const done = await finish(batch(session, "cut"));
  await assertOneCleanRun(done, "cut");
  assertThreeCuts("cut");
  assert.equal(done.events.filter(({ cause }) => cause === "network").length, 3);
  await session.close();
});

test("a server that has not noticed the cut replays and ends at once, and the call goes on", {
  timeout: 30_000,
}, async () => {
  plans.set("unnoticed", [{ after: 3, how: "rst", lingerMs: 300 }]);
  const session = await open();
  await assertOneCleanRun(await finish(batch(session, "unnoticed")), "unnoticed");
  const resumes = proxy.exchanges.filter(({ method, key }) => method === "GET" && key === "unnoticed");
  assert.ok(
    resumes[0].endedAt < faultsOf("unnoticed")[0].at + 300,
    "the first resume ended while the old body was held",
  );
  await session.close();
});

test("fifty such calls, ten at once, each get every message once and run once", {
  timeout: 120_000,
}, async () => {
  const session = await open();
  const keys = Array.from({ length: 50 }, (_, index) => `many ${index + 1}`);
  for (const key of keys) plans.set(key, THREE_CUTS);
  const waiting = [...keys];
  const worker = async () => {
    for (let key = waiting.shift(); key !== undefined; key = waiting.shift()) {
      await assertOneCleanRun(await finish(batch(session, key)), key);
    }
  };
  await Promise.all(Array.from({ length: 10 }, worker));
  keys.forEach(assertThreeCuts);
  await session.close();
});

test("tools are listed, and requests of any method are answered", { timeout: 30_000 }, async () => {
  const session = await open();
  const tools = await session.listTools();
  assert.deepEqual(tools.map(({ name }) => name).sort(), ["ask", "count_up", "process_batch", "slow"]);
  assert.deepEqual(await session.request("ping").result, {});
  assert.equal(session.serverInfo.name, "landfall-interop");
  assert.equal(session.protocolVersion, "2025-11-25");
  await session.close();
});

test("progress arrives in order", { timeout: 30_000 }, async () => {
  const session = await open();
  const { events, result } = await finish(session.callTool("count_up", { to: 10 }));
  const progress = events.filter(({ type }) => type === "progress");
  assert.deepEqual(
    progress.map((event) => event.progress),
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  );
  assert.ok(progress.every(({ total }) => total === 10));
  assert.equal(result.content[0].text, "10");
  await session.close();
});

test("a cancelled call settles at once, and the server stops the tool", { timeout: 30_000 }, async () => {
  const session = await open();
  const call = session.callTool("slow", { key: "unwanted" });
  for await (const { type } of call) if (type === "message") call.cancel();
  await assert.rejects(call.result, (error) => {
    assert.ok(error instanceof ToolCallFailedError);
    assert.equal(error.reason, "cancelled");
    return true;
  });
  for (let tries = 100; tries > 0 && (await python.cancelled("unwanted")) === 0; tries -= 1) await sleep(20);
  assert.equal(await python.cancelled("unwanted"), 1);
  const told = proxy.exchanges.filter(({ rpc }) => rpc === "notifications/cancelled");
  assert.deepEqual(
    told.map(({ params, status }) => [params.requestId, status]),
    [[call.id, 202]],
  );
  await session.close();
});

test("a question of the server's is answered by the application", { timeout: 30_000 }, async () => {
  const session = await open({
    capabilities: { elicitation: {} },
    onRequest: async ({ method, params }) => {
      assert.equal(method, "elicitation/create");
      assert.equal(params.message, "Which colour?");
      return { action: "accept", content: { colour: "green" } };
    },
  });
  const { result } = await finish(session.callTool("ask", { question: "Which colour?" }));
  assert.equal(result.content[0].text, "green");
  await session.close();
});
