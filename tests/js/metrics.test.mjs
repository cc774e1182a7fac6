// Metrics, with the calls that no core counts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { noMetrics } from "../../target/modules/call/metrics.js";
import { fakeSession, turn } from "./support/fake-core.mjs";

const counted = (more = {}) => ({ ...noMetrics(), calls: 3, answered: 2, bytes: 99, ...more });

test("metrics are the core's, and reset is passed on", async () => {
  const { session, core } = await fakeSession();
  core.on.metrics = () => counted();
  assert.deepEqual(session.metrics(), counted());
  assert.deepEqual(session.metrics({ reset: true }), counted());
  assert.deepEqual(
    core.called("metrics").map(([handle, , reset]) => [handle, reset]),
    [
      [7, false],
      [7, true],
    ],
  );
  assert.throws(() => session.metrics({ reset: "yes" }), { name: "ConfigError", option: "reset" });
  assert.throws(() => session.metrics({ clear: true }), { name: "ConfigError", option: "clear" });
});

test("after close they stay readable, and can be reset", async () => {
  const { session, core } = await fakeSession();
  core.on.metrics = () => counted();
  await session.close();
  assert.deepEqual(session.metrics(), counted());
  assert.deepEqual(session.metrics({ reset: true }), counted());
  assert.deepEqual(session.metrics(), noMetrics());
});

test("calls that no core counts are counted: those of a lost instance, and those never made", async () => {
  const { session, core, cores } = await fakeSession();
  core.on.metrics = () => counted();
  const calls = [1, 2].map(() => session.callTool("work"));
  calls.push(session.callTool("work", {}, { signal: AbortSignal.abort() }));
  core.on.poll = () => {
    throw new Error("trap");
  };
  core.tell([]);
  for (const { result } of calls) await result.catch(() => {});
  await turn();
  const metrics = session.metrics();
  assert.deepEqual(metrics.failed, { internal_error: 2, cancelled: 1 });
  assert.deepEqual(metrics.outcomes, { not_sent: 1, rejected: 0, unknown: 2 });
  assert.equal(metrics.calls, 3);
  assert.equal(cores.length, 1, "asking makes no new instance");
  session.callTool("next");
  cores[1].on.metrics = () => counted({ failed: { internal_error: 1, gap: 1 } });
  assert.deepEqual(session.metrics({ reset: true }).failed, { internal_error: 3, gap: 1, cancelled: 1 });
  assert.deepEqual(session.metrics().failed, { internal_error: 1, gap: 1 });
});
