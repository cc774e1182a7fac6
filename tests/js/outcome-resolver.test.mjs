// The option onUnknown: the application may know what became of a call.
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventsOf, failure, fakeSession, turn } from "./support/fake-core.mjs";
import "./support/timers.mjs";
import { timed } from "../support/timed.mjs";

test("what onUnknown gives becomes the result of a call whose outcome is not known", async () => {
  const asked = [];
  const events = [];
  const { session, core } = await fakeSession({
    onUnknown: async (call) => {
      asked.push(call);
      return { content: [] };
    },
    onEvent: (event) => void events.push(event.type),
  });
  const call = session.callTool("work", { n: 1 });
  core.fail(1);
  const [event, ...rest] = await eventsOf(call);
  assert.deepEqual(asked, [{ method: "tools/call", tool: "work", arguments: { n: 1 }, requestId: "fake-1" }]);
  assert.deepEqual(
    { ...event, at: 0 },
    { type: "result", at: 0, requestId: "fake-1", result: { content: [] } },
  );
  assert.deepEqual(rest, []);
  assert.deepEqual(await call.result, { content: [] });
  assert.deepEqual(events, ["result"]);
});

test("undefined, a throw and a rejection leave the failure as it is", async () => {
  let answer;
  const { session, core } = await fakeSession({ onUnknown: () => answer() });
  const ways = [
    () => undefined,
    () => Promise.resolve(undefined),
    () => Promise.reject(new Error("rejected")),
    () => {
      throw new Error("thrown");
    },
  ];
  let n = 0;
  for (answer of ways) {
    n += 1;
    const call = session.callTool("work");
    core.fail(n, { reason: "idle_timeout" });
    await assert.rejects(call.result, { name: "ToolCallFailedError", reason: "idle_timeout" });
  }
});

test("null is a result", async () => {
  const { session, core } = await fakeSession({ onUnknown: async () => null });
  const call = session.callTool("work");
  core.fail(1);
  assert.equal(await call.result, null);
});

timed("it is waited for at most 3 x connectMs of that call, and its late answer goes nowhere", async () => {
  let release;
  const onUnknown = () =>
    new Promise((resolve) => {
      release = resolve;
    });
  const { session, core } = await fakeSession({ onUnknown });
  core.terms = { connectMs: 20 };
  const call = session.callTool("work");
  const started = performance.now();
  core.fail(1);
  await assert.rejects(call.result, { reason: "stream_lost" });
  const took = performance.now() - started;
  assert.ok(took >= 59 && took < 1_000, `${took}`);
  release("late");
  await turn();
  assert.equal((await eventsOf(call)).length, 1);
});

test("it is not asked where the outcome is known, for a cancel, the end of the session, or a notification", async () => {
  let asked = 0;
  const { session, core } = await fakeSession({
    onUnknown: async () => {
      asked += 1;
    },
  });
  const calls = [1, 2, 3, 4].map(() => session.callTool("work"));
  core.fail(1, { outcome: "not_sent" });
  core.fail(2, { outcome: "rejected" });
  core.fail(3, { reason: "cancelled" });
  calls[3].cancel();
  core.fail(4);
  for (const { result } of calls) await result.catch(() => {});
  const notified = session.notify("notifications/x");
  core.fail(5);
  await notified.catch(() => {});
  const pending = session.callTool("work");
  core.on.close = () => ({ outputs: [failure(6, { reason: "closed" }), { out: "closed" }] });
  await session.close();
  await assert.rejects(pending.result, { reason: "closed" });
  assert.equal(asked, 0);
});

test("cancel ends the wait for it with the failure", async () => {
  const { session, core } = await fakeSession({ onUnknown: () => new Promise(() => {}) });
  const call = session.callTool("work");
  core.fail(1);
  await turn();
  call.cancel();
  await assert.rejects(call.result, { reason: "stream_lost" });
  assert.deepEqual(core.called("cancel"), []);
});

test("close ends the wait for it before it resolves, and it is not asked any more", async () => {
  const events = [];
  let asked = 0;
  const onUnknown = () => {
    asked += 1;
    return new Promise(() => {});
  };
  const { session, core } = await fakeSession({
    onUnknown,
    onEvent: (event) => void events.push(event.type),
  });
  const [first, second] = [1, 2].map(() => session.callTool("work"));
  core.fail(1);
  await turn();
  assert.equal(asked, 1);
  await session.close();
  assert.deepEqual(events, ["tool_call_failed", "tool_call_failed"]);
  await assert.rejects(first.result, { reason: "stream_lost" });
  await assert.rejects(second.result, { reason: "closed" });
  assert.equal(asked, 1);
});

test("after a trap it is asked for each call, and the next call does not wait for it", async () => {
  let release;
  const onUnknown = ({ requestId }) =>
    requestId === "fake-1"
      ? Promise.resolve("known")
      : new Promise((resolve) => {
          release = resolve;
        });
  const { session, core, cores } = await fakeSession({ onUnknown });
  const [first, second] = [1, 2].map(() => session.callTool("work"));
  core.on.poll = () => {
    throw new Error("trap");
  };
  core.tell([]);
  assert.equal(await first.result, "known");
  const next = session.callTool("next");
  cores[1].answer(1, { result: "next" });
  assert.equal(await next.result, "next");
  release(undefined);
  await assert.rejects(second.result, { reason: "internal_error" });
});

timed("the second deadline asks, too", async () => {
  const { session, core } = await fakeSession({ onUnknown: async () => "known" });
  core.terms = { deadlineMs: 5, connectMs: 5 };
  assert.equal(await session.callTool("work").result, "known");
});

test("its timer does not outlive it", async (t) => {
  const { session, core } = await fakeSession({ onUnknown: async () => "known" });
  const set = t.mock.method(globalThis, "setTimeout");
  const cleared = t.mock.method(globalThis, "clearTimeout");
  core.terms = { connectMs: 25_000 };
  const call = session.callTool("work");
  core.fail(1);
  await call.result;
  const [ours] = set.mock.calls.filter(({ arguments: [, ms] }) => ms === 75_000);
  await turn();
  assert.ok(cleared.mock.calls.some(({ arguments: [timer] }) => timer === ours.result));
});
