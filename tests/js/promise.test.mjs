// Waiting within bounds leaves nothing behind.
import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { within } from "../../target/npm/base/promise.js";

const late = () => new Error("late");
const never = () => new Promise(() => {});
const listeners = (signal) => getEventListeners(signal, "abort").length;

test("waiting leaves no timer and no listener, whether the answer, the failure, the time or the abort was first", async () => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  const before = timers();
  const stop = new AbortController();
  const { signal } = stop;
  assert.equal(await within(60_000, async () => "given", late, signal), "given");
  assert.equal(listeners(signal), 0);
  await assert.rejects(
    within(60_000, () => Promise.reject(new Error("failed")), late, signal),
    /failed/,
  );
  assert.equal(listeners(signal), 0);
  await assert.rejects(within(1, never, late, signal), /late/);
  assert.equal(listeners(signal), 0);
  const waiting = within(60_000, never, late, signal);
  assert.equal(listeners(signal), 1);
  stop.abort(new Error("stopped"));
  await assert.rejects(waiting, /stopped/);
  assert.equal(listeners(signal), 0);
  assert.equal(timers(), before);
});
