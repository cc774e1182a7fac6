// Waiting within bounds leaves nothing behind.
import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { onAbort, within } from "../../target/modules/base/promise.js";

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

test("a signal has one listener however many wait for it, each is told once, and none that stopped", (t) => {
  const warned = t.mock.method(process, "emitWarning", () => {});
  const stop = new AbortController();
  const told = [];
  const stops = Array.from({ length: 30 }, (_, n) =>
    onAbort(stop.signal, () => {
      told.push(n);
      if (n === 3) stops[4]();
    }),
  );
  assert.equal(listeners(stop.signal), 1);
  for (const n of [0, 7]) stops[n]();
  stop.abort();
  assert.deepEqual(
    told,
    Array.from({ length: 30 }, (_, n) => n).filter((n) => ![0, 4, 7].includes(n)),
  );
  for (const each of stops) each();
  assert.equal(told.length, 27);
  assert.equal(warned.mock.callCount(), 0);
});

test("when the last one has stopped nothing listens, and the next one is heard again", () => {
  const stop = new AbortController();
  const told = [];
  for (const n of [1, 2]) {
    const listener = () => told.push(n);
    const first = onAbort(stop.signal, listener);
    const second = onAbort(stop.signal, listener);
    first();
    first();
    assert.equal(listeners(stop.signal), 1);
    second();
    assert.equal(listeners(stop.signal), 0);
  }
  onAbort(stop.signal, () => told.push("heard"));
  stop.abort();
  assert.deepEqual(told, ["heard"]);
});
