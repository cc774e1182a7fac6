// What a modern server wants before it goes on, and calls that it goes on with as tasks: `connect` and the model server,
// behind a proxy that cuts.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "@modelcontextprotocol/client";
import {
  connect,
  LandfallTransport,
  ServerError,
  ToolCallFailedError,
} from "../../target/npm/entry/index.js";
import { LandfallTransport as TransportV2 } from "../../target/npm/entry/v2.js";
import { createModernServer } from "../server/modern/server.mjs";
import { gather, until } from "./era-stage.mjs";
import { createCuttingProxy } from "./proxy.mjs";

const ask = (message) => ({ method: "elicitation/create", params: { message } });
const timeout = 60_000;
const quick = { pollIntervalMs: 250, ttlMs: 60_000 };

let server;
let proxy;
const open = [];

before(async () => {
  server = await createModernServer();
  proxy = await createCuttingProxy({ upstream: server.url, plan: () => [] });
});

afterEach(async () => {
  await Promise.all(open.splice(0).map((session) => session.close()));
});

after(async () => {
  await proxy.close();
  await server.close();
});

async function session(options) {
  const retry = { baseMs: 50, maxMs: 200 };
  const opened = await connect(proxy.url, {
    retry,
    logger: false,
    capabilities: { elicitation: {} },
    ...options,
  });
  open.push(opened);
  return opened;
}

const scripted = (opened, key, steps, options) => opened.callTool("scripted", { key, steps }, options);
const lines = (rpc, taskId) =>
  server.log.filter((line) => line.rpc === rpc && (taskId === undefined || line.taskId === taskId));

async function failureOf(call) {
  try {
    await call;
  } catch (error) {
    if (error instanceof ToolCallFailedError) return error;
    throw error;
  }
  throw new Error("it should have failed");
}

test("each round asks what its result holds, and the call has the answers of all", { timeout }, async () => {
  const asked = [];
  const opened = await session({
    onRequest: async ({ method, params }) => {
      asked.push(`${method} ${params.message}`);
      return { action: "accept", content: { n: asked.length } };
    },
  });
  const call = scripted(opened, "rounds", [
    { needInput: { inputRequests: { one: ask("first"), two: ask("second") } } },
    { needInput: {} },
    { needInput: { inputRequests: { three: ask("third") } } },
  ]);
  const { events, done } = gather(call);
  const { structuredContent } = await call;
  await done;
  assert.deepEqual(
    asked,
    ["first", "second", "third"].map((text) => `elicitation/create ${text}`),
  );
  assert.deepEqual(Object.keys(structuredContent.answers).sort(), ["one", "three", "two"]);
  assert.equal(server.executions("rounds"), 1);
  const told = events.map(({ type }) => type).filter((type) => type.startsWith("input"));
  assert.deepEqual(told.sort(), [...Array(3).fill("input_answered"), ...Array(3).fill("input_required")]);
});

test("without a handler, or where that fails, the call ends, and says why", { timeout }, async () => {
  const steps = [{ needInput: { inputRequests: { one: ask("first") } } }];
  const onRequest = () => Promise.reject(new Error("no"));
  for (const [options, says] of [
    [{}, /nothing here answers it/],
    [{ onRequest }, /its handler failed/],
  ]) {
    const failed = await failureOf(scripted(await session(options), "unanswered", steps));
    assert.equal(`${failed.reason} ${failed.outcome}`, "protocol_error unknown");
    assert.match(failed.message, says);
  }
});

test("who is asked hears that nobody waits any more", { timeout }, async () => {
  let aborted;
  const onRequest = ({ signal }) =>
    new Promise((_, reject) => {
      signal.addEventListener("abort", () => {
        aborted = true;
        reject(signal.reason);
      });
    });
  const call = scripted(await session({ onRequest }), "gone", [
    { needInput: { inputRequests: { one: ask("first") } } },
  ]);
  const { events } = gather(call);
  await until(() => events.some(({ type }) => type === "input_required"));
  call.cancel();
  assert.equal((await failureOf(call)).reason, "cancelled");
  assert.equal(aborted, true);
});

test("a long call survives cuts, and its caller notices nothing but events", { timeout }, async () => {
  const opened = await session();
  const call = scripted(opened, "long", [
    { task: quick },
    { wait: 400 },
    { status: "half" },
    { wait: 1_200 },
  ]);
  const { events, done } = gather(call);
  await until(() => lines("tasks/get").length > 0);
  for (let cuts = 0; cuts < 3; await sleep(150)) cuts += proxy.cut(() => true) + 1;
  const { content } = await call;
  await done;
  assert.equal(content[0].text, "long done");
  assert.equal(server.executions("long"), 1);
  const told = events.filter(({ type }) => type === "task");
  assert.deepEqual(
    told.map(({ status, statusMessage }) => [status, statusMessage]),
    [
      ["working", undefined],
      ["working", "half"],
      ["completed", "half"],
    ],
  );
  assert.ok(!events.some(({ type }) => type === "reissued"));
});

test("what a task wants is asked once, and it goes on with that", { timeout }, async () => {
  const asked = [];
  const onRequest = async ({ params }) => {
    asked.push(params.message);
    await sleep(600);
    return { action: "accept" };
  };
  const call = scripted(await session({ onRequest }), "wants", [
    { task: quick },
    { input: { a: ask("first"), b: ask("second") } },
  ]);
  const { structuredContent } = await call;
  assert.deepEqual(asked, ["first", "second"]);
  assert.deepEqual(structuredContent.answers, { a: { action: "accept" }, b: { action: "accept" } });
});

test("what becomes of the task becomes of the call", { timeout }, async () => {
  const opened = await session();
  const error = { code: -32050, message: "no", data: { x: 1 } };
  await assert.rejects(scripted(opened, "error", [{ task: quick }, { error }]), (thrown) => {
    assert.ok(thrown instanceof ServerError);
    assert.deepEqual([thrown.code, thrown.data], [error.code, error.data]);
    return true;
  });
  const result = { content: [], isError: true };
  const { isError } = await scripted(opened, "isError", [{ task: quick }, { result }]);
  assert.equal(isError, true);
  for (const [step, reason] of [
    [{ cancelTask: true }, "task_cancelled"],
    [{ lose: true }, "task_lost"],
  ]) {
    const failed = await failureOf(
      scripted(opened, reason, [{ task: quick }, { wait: 100 }, step, { wait: 60_000 }]),
    );
    assert.equal(`${failed.reason} ${failed.outcome}`, `${reason} unknown`);
    assert.ok(server.log.some(({ taskId }) => taskId === failed.taskId));
  }
  const expired = await failureOf(
    scripted(opened, "expired", [{ task: { pollIntervalMs: 250, ttlMs: 400 } }, { wait: 60_000 }]),
  );
  assert.equal(expired.reason, "task_lost");
});

test("a cancel stops the task, once the call has ended", { timeout }, async () => {
  const call = scripted(await session(), "cancel", [{ task: quick }, { wait: 60_000 }]);
  const { events } = gather(call);
  await until(() => events.some(({ type }) => type === "task"));
  call.cancel();
  const { reason, taskId } = await failureOf(call);
  assert.equal(reason, "cancelled");
  await until(() => server.cancels("cancel") === 1);
  assert.equal(lines("tasks/cancel", taskId).length, 1);
});

test("at its deadline it is left running, and taken up again by its id, also in another session", {
  timeout,
}, async () => {
  const steps = [{ task: quick }, { wait: 1_500 }];
  const opened = await session({ terminateSessionOnClose: false });
  const { reason, taskId } = await failureOf(
    scripted(opened, "later", steps, { timeouts: { deadlineMs: 600 } }),
  );
  assert.equal(reason, "deadline_exceeded");
  assert.equal(server.cancels("later"), 0);
  const state = JSON.parse(JSON.stringify(opened.exportState()));
  await opened.close();
  const again = await session({ state });
  const { content } = await again.task(taskId);
  assert.equal(content[0].text, "later done");
  assert.equal((await again.task(taskId)).content[0].text, "later done", "as long as the server keeps it");
  const lost = await failureOf(again.task("another"));
  assert.deepEqual([lost.reason, lost.retrySafe, lost.taskId], ["task_lost", true, "another"]);
});

test("with tasks: false nothing says that a call may be one, and none can be taken up", {
  timeout,
}, async () => {
  const opened = await session({ tasks: false });
  const { content } = await scripted(opened, "plain", [{ task: { optional: true } }]);
  assert.equal(content[0].text, "plain done");
  await assert.rejects(async () => scripted(opened, "needs", [{ task: {} }]), { code: -32021 });
  assert.throws(() => opened.task("t"), { name: "ConfigError", option: "tasks" });
  for (const id of ["", 5, undefined])
    assert.throws(() => opened.task(id), { name: "ConfigError", option: "taskId" });
  assert.throws(() => opened.task("t", { onGap: "fail" }), { name: "ConfigError" });
});

/** A Client of SDK 2, which itself knows no tasks. */
async function clientOf(tasks) {
  const capabilities = { elicitation: {} };
  const client = new Client(
    { name: "c", version: "1" },
    { capabilities, versionNegotiation: { mode: "auto" } },
  );
  await client.connect(new TransportV2(proxy.url, { tasks }));
  open.push(client);
  return (key, steps) => client.callTool({ name: "scripted", arguments: { key, steps } });
}

test("a Client has the result of a task where its transport is to drive it", { timeout }, async () => {
  const work = [{ task: { ...quick, optional: true } }, { wait: 300 }];
  const taskId = () => lines("tools/call").at(-1).taskId;
  const call = await clientOf("drive");
  const { content } = await call("driven", work);
  assert.equal(content[0].text, "driven done");
  assert.ok(taskId());
  const failed = await failureOf(call("asked", [{ task: quick }, { input: { a: ask("first") } }]));
  assert.deepEqual([failed.reason, failed.taskId], ["protocol_error", taskId()]);
  const plain = await clientOf(undefined);
  assert.equal((await plain("plain", work)).content[0].text, "plain done");
  assert.equal(taskId(), undefined);
});

test("a Client that says itself that it knows tasks is given its own", { timeout }, async () => {
  const transport = new LandfallTransport(proxy.url);
  const got = new Promise((resolve) => {
    transport.onmessage = resolve;
  });
  await transport.start();
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } },
  };
  const params = { name: "scripted", arguments: { key: "given", steps: [{ task: quick }] }, _meta };
  await transport.send({ jsonrpc: "2.0", id: 7, method: "tools/call", params });
  const { id, result } = await got;
  await transport.close();
  assert.deepEqual([id, result.resultType], [7, "task"]);
});
