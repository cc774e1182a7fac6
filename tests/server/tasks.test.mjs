// The model server's tasks (SEP-2663): who gets one, what becomes of it, and how it is heard of.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { ModernClient } from "./modern/plain-client.mjs";
import { createModernServer } from "./modern/server.mjs";
import { CAPABILITIES, TASKS } from "./modern/words.mjs";
import { readEvents } from "./plain-client.mjs";

const DECLARED = { elicitation: {}, extensions: { [TASKS]: {} } };
const ASK = { method: "elicitation/create", params: { mode: "form", message: "Who?", requestedSchema: {} } };
const ACCEPTED = { action: "accept", content: { name: "Ada" } };

let server;
let client;
before(async () => {
  server = await createModernServer();
  client = new ModernClient(server.url, DECLARED);
});
afterEach(() => server.reset());
after(() => server.close());

const lastOf = async (response) => (await readEvents(response)).events.at(-1).message;
const begun = async (key, task, steps = []) =>
  (await lastOf(await client.script(key, [{ task }, ...steps]))).result;
const get = ({ taskId }) => client.ask("tasks/get", { taskId });

/** Polls until the task has that status. */
async function reached(task, status) {
  for (;;) {
    const now = await get(task);
    if (now.status === status) return now;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

test("a call that becomes a task is answered at once, and the task has the result", async () => {
  const task = await begun("job", { pollIntervalMs: 20, ttlMs: 60_000 }, [
    { wait: 30 },
    { status: "half" },
    { wait: 30 },
  ]);
  assert.equal(task.resultType, "task");
  assert.deepEqual(
    [task.status, task.pollIntervalMs, task.ttlMs, Date.parse(task.createdAt) > 0],
    ["working", 20, 60_000, true],
  );
  const done = await reached(task, "completed");
  assert.equal(done.resultType, "complete");
  assert.equal(done.statusMessage, "half");
  assert.equal(done.result.structuredContent.execution, 1);
  assert.deepEqual([server.executions("job"), server.completions("job")], [1, 1]);
});

test("without the extension in the request there is no task: an error, or an answer that waits", async () => {
  const options = { meta: { [CAPABILITIES]: {} } };
  const refused = await client.script("must", [{ task: {} }], options);
  assert.equal(refused.status, 400);
  const { error } = await refused.json();
  assert.equal(error.code, -32021);
  assert.deepEqual(error.data, { requiredCapabilities: { extensions: { [TASKS]: {} } } });
  const { result } = await lastOf(
    await client.script("may", [{ task: { optional: true } }, { wait: 10 }], options),
  );
  assert.equal(result.resultType, "complete");
  const task = await begun("other", {});
  const asked = await client.request("tasks/get", { taskId: task.taskId }, options);
  assert.equal(asked.status, 400);
  assert.equal((await asked.json()).error.code, -32021);
});

test("the name of a task is in a header of what asks for it", async () => {
  const { taskId } = await begun("named", {});
  const response = await client.request("tasks/get", { taskId }, { headers: { "mcp-name": null } });
  assert.deepEqual([response.status, (await response.json()).error.code], [400, -32020]);
});

test("a task asks for input, each key until it was answered, and ignores answers to what it did not ask", async () => {
  const task = await begun("ask", {}, [{ input: { who: ASK, why: ASK } }]);
  const open = async () => Object.keys((await get(task)).inputRequests ?? {});
  assert.deepEqual(await open(), ["who", "why"]);
  const update = (inputResponses) => client.ask("tasks/update", { taskId: task.taskId, inputResponses });
  assert.equal((await update({ who: ACCEPTED, never: ACCEPTED })).resultType, "complete");
  assert.deepEqual(await open(), ["why"]);
  await update({ who: { action: "decline" }, why: ACCEPTED });
  const { result } = await reached(task, "completed");
  assert.deepEqual(result.structuredContent.answers, { who: ACCEPTED, why: ACCEPTED });
});

test("an error of JSON-RPC makes it fail, and a tool's own error does not", async () => {
  const failed = await begun("failed", {}, [{ error: { code: 7, message: "no" } }]);
  assert.deepEqual((await reached(failed, "failed")).error, { code: 7, message: "no" });
  const isError = await begun("isError", {}, [{ result: { content: [], isError: true } }]);
  assert.equal((await reached(isError, "completed")).result.isError, true);
});

test("a cancel is acknowledged, and ends the task unless its script goes on", async () => {
  const task = await begun("stop", {}, [{ wait: 10_000 }]);
  assert.equal((await client.ask("tasks/cancel", { taskId: task.taskId })).resultType, "complete");
  assert.equal((await get(task)).status, "cancelled");
  const stubborn = await begun("stubborn", {}, [{ ignoreCancel: true }, { wait: 50 }]);
  await client.ask("tasks/cancel", { taskId: stubborn.taskId });
  assert.equal((await get(stubborn)).status, "working");
  await reached(stubborn, "completed");
  assert.deepEqual([server.cancels("stop"), server.cancels("stubborn")], [1, 1]);
  const own = await begun("own", {}, [{ cancelTask: true }]);
  await reached(own, "cancelled");
});

test("a task that is unknown, lost, or past its time to live is not found", async () => {
  const lost = await begun("lost", {}, [{ lose: true }, { wait: 10_000 }]);
  const expired = await begun("expired", { ttlMs: 0 }, [{ wait: 10_000 }]);
  for (const taskId of [lost.taskId, expired.taskId, "made-up"]) {
    for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
      const response = await client.request(method, { taskId, inputResponses: {} });
      assert.deepEqual([response.status, (await response.json()).error.code], [200, -32602]);
    }
  }
});

test("a task changes its interval and its time to live while it works", async () => {
  const steps = [{ status: { pollIntervalMs: 400, ttlMs: 1_000 } }, { wait: 10_000 }];
  const now = await get(await begun("change", { pollIntervalMs: 10 }, steps));
  assert.deepEqual([now.pollIntervalMs, now.ttlMs], [400, 1_000]);
});

test("whoever listens to a task hears each state of it, and only of those it was granted", async () => {
  const steps = [{ wait: 60 }, { status: "half" }, { input: { who: ASK } }];
  const task = await begun("heard", {}, steps);
  const other = await begun("unheard", { notify: false }, steps);
  const stop = new AbortController();
  const taskIds = [task.taskId, other.taskId, "made-up"];
  const listening = await client.request(
    "subscriptions/listen",
    { notifications: { taskIds } },
    { signal: stop.signal },
  );
  await reached(task, "input_required");
  await client.ask("tasks/update", { taskId: task.taskId, inputResponses: { who: ACCEPTED } });
  await reached(task, "completed");
  server.subscriptions.all("end");
  const messages = (await readEvents(listening)).events.map(({ message }) => message);
  assert.deepEqual(messages[0].params.notifications, { taskIds: [task.taskId] });
  const told = messages.filter(({ method }) => method === "notifications/tasks").map(({ params }) => params);
  assert.deepEqual(
    told.map(({ status, statusMessage }) => `${status}, ${statusMessage}`),
    ["working, half", "input_required, half", "working, half", "completed, half"],
  );
  const { _meta, ...last } = told.at(-1);
  const { _meta: _, resultType, ...polled } = await get(task);
  assert.deepEqual(last, polled);
});

test("listening to tasks needs the extension", async () => {
  const response = await client.request(
    "subscriptions/listen",
    { notifications: { taskIds: [] } },
    { meta: { [CAPABILITIES]: {} } },
  );
  assert.deepEqual([response.status, (await response.json()).error.code], [400, -32021]);
});
