// Tasks of the server's: what the wrapper hands to the core, and what it tells of them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ToolCallFailedError } from "../../target/modules/entry/index.js";
import { eventsOf, fakeSession, startedTransport, turn } from "./support/fake-core.mjs";

const told = (call, status, more = {}) => ({
  ...{ out: "event", call, at: 5, type: "task", taskId: "t-1", status },
  ...more,
});

test("a session drives tasks unless it is told not to, and a transport where it is told to", async () => {
  for (const [tasks, drives] of [
    [undefined, true],
    [true, true],
    ["drive", true],
    [false, undefined],
  ]) {
    const { core } = await fakeSession({ tasks });
    assert.equal(core.config.tasks, drives, String(tasks));
  }
  for (const [tasks, drives] of [
    [undefined, undefined],
    [false, undefined],
    ["drive", true],
    [true, true],
  ]) {
    const { core } = await startedTransport({ tasks });
    assert.equal(core.config.tasks, drives, String(tasks));
  }
});

test("a task is taken up by its id, with the options that make sense for one", async () => {
  const { session, core } = await fakeSession();
  const call = session.task('t"1', { timeouts: { deadlineMs: 5_000 } });
  const [[, , spec]] = core.called("call");
  assert.deepEqual([spec.method, spec.params, spec.task], ["tasks/get", '{"taskId":"t\\"1"}', 't"1']);
  assert.deepEqual([spec.deadlineMs, spec.progress], [5_000, false]);
  core.answer(1, { jsonrpc: "2.0", id: "fake-1", result: { content: [] } });
  assert.deepEqual(await call, { content: [] });
  for (const [taskId, options, option] of [
    ["", {}, "taskId"],
    [5, {}, "taskId"],
    ["t", { idempotent: true }, "idempotent"],
    ["t", { _meta: {} }, "_meta"],
  ]) {
    assert.throws(() => session.task(taskId, options), { name: "ConfigError", option });
  }
  assert.equal(core.called("call").length, 1);
});

test("its events and its failure name it, whoever says that it failed, and the log does not", async () => {
  const lines = [];
  const write = (text, data) => lines.push(`${text} ${JSON.stringify(data)}`);
  const logger = { debug: write, info: write, warn: write, error: write };
  const { session, core } = await fakeSession({ logger });
  const calls = [session.callTool("a"), session.callTool("b")];
  const messages = { statusMessage: "half of t-1" };
  core.tell([told(1, "working"), told(1, "working", messages), told(2, "working")]);
  core.fail(1, { reason: "task_lost", taskId: "t-1" });
  const events = eventsOf(calls[0]);
  await assert.rejects(calls[0].result, ToolCallFailedError);
  const [first, second, failed] = await events;
  assert.deepEqual([first.type, first.taskId, first.status], ["task", "t-1", "working"]);
  assert.equal(second.statusMessage, messages.statusMessage);
  assert.deepEqual([failed.reason, failed.taskId], ["task_lost", "t-1"]);
  core.on.poll = () => {
    throw new WebAssembly.RuntimeError("unreachable");
  };
  core.tell([]);
  await turn();
  const lost = await calls[1].result.catch((error) => error);
  assert.deepEqual([lost.reason, lost.taskId], ["internal_error", "t-1"]);
  assert.ok(lines.length > 0);
  assert.deepEqual(
    lines.filter((line) => line.includes("t-1")),
    [],
  );
  await session.close();
});
