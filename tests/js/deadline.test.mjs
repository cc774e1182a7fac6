// The second deadline: the wrapper ends a call whose core hangs.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Deadline } from "../../target/modules/call/deadline.js";
import { eventsOf, fakeConnect, fakeSession, noFetch, turn } from "./support/fake-core.mjs";
import "./support/timers.mjs";

/** A deadline under timers and a clock of the test's: `pass(ms)` runs both, `sleep(ms)` the clock alone. */
function armed(t, times) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let now = 1_000;
  const expired = [];
  const deadline = new Deadline(
    () => now,
    times,
    () => expired.push(now),
  );
  const sleep = (ms) => {
    now += ms;
  };
  const pass = (ms) => {
    sleep(ms);
    t.mock.timers.tick(ms);
  };
  return { deadline, expired, sleep, pass };
}

test("it is due 250 ms after the core's own", (t) => {
  const { expired, pass } = armed(t, { deadlineMs: 600, connectMs: 50 });
  pass(849);
  assert.equal(expired.length, 0);
  pass(1);
  assert.equal(expired.length, 1);
  pass(100_000);
  assert.equal(expired.length, 1);
});

test("one that fires more than 30 s late leaves time for one attempt, once", (t) => {
  const { expired, sleep, pass } = armed(t, { deadlineMs: 600, connectMs: 50 });
  sleep(30_001);
  pass(850);
  assert.equal(expired.length, 0);
  pass(299);
  assert.equal(expired.length, 0);
  sleep(90_000);
  pass(1);
  assert.equal(expired.length, 1);
});

test("one that fires 30 s late or less is due", (t) => {
  const { expired, sleep, pass } = armed(t, { deadlineMs: 600, connectMs: 50 });
  sleep(30_000);
  pass(850);
  assert.equal(expired.length, 1);
});

test("a clock that stands still does not hold it up", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let expired = 0;
  new Deadline(
    () => 5,
    { deadlineMs: 10, connectMs: 5 },
    () => {
      expired += 1;
    },
  );
  t.mock.timers.tick(260);
  assert.equal(expired, 1);
});

test("one longer than a timer can wait is waited for in steps", (t) => {
  const deadlineMs = 2 ** 32;
  const { expired, pass } = armed(t, { deadlineMs, connectMs: 50 });
  for (let passed = 0; passed < deadlineMs; passed += 2 ** 29) pass(2 ** 29);
  pass(249);
  assert.equal(expired.length, 0);
  // The mocked timers count a step from the end of the tick in which it began.
  pass(5);
  assert.equal(expired.length, 1);
});

test("one that was cleared never fires", (t) => {
  const { deadline, expired, pass } = armed(t, { deadlineMs: 600, connectMs: 50 });
  deadline.clear();
  pass(10_000);
  assert.equal(expired.length, 0);
});

test("a core that hangs costs its calls the deadline: they fail here, their exchanges end, the core is told", async () => {
  const signals = [];
  const fetch = (_url, { signal }) => {
    signals.push(signal);
    return new Promise(() => {});
  };
  const events = [];
  const { session, core } = await fakeSession({ fetch, onEvent: (event) => void events.push(event.type) });
  core.terms = { deadlineMs: 20, connectMs: 5 };
  const started = performance.now();
  const call = session.callTool("work", {}, { idempotent: true });
  void core.open(1, { call: 1 }).catch(() => {});
  void core.open(2, { call: 2 }).catch(() => {});
  const seen = await eventsOf(call);
  const { reason, outcome, retrySafe, message } = seen.at(-1);
  assert.deepEqual([reason, outcome, retrySafe, seen.length], ["deadline_exceeded", "unknown", true, 1]);
  assert.match(message, /deadlineMs, 20 ms/);
  assert.ok(performance.now() - started >= 269);
  await assert.rejects(call.result, { name: "ToolCallFailedError", reason: "deadline_exceeded" });
  assert.deepEqual(
    signals.map(({ aborted }) => aborted),
    [true, false],
  );
  assert.deepEqual(
    core.called("cancel").map(([, , each]) => each),
    [1],
  );
  core.answer(1, { result: "late" });
  await turn();
  assert.deepEqual(events, ["tool_call_failed"]);
});

test("a core that traps when it is told of it changes nothing for that call", async () => {
  const { session, core } = await fakeSession();
  core.terms = { deadlineMs: 5, connectMs: 5 };
  core.on.cancel = () => {
    throw new Error("trap");
  };
  const first = session.callTool("work");
  core.terms = { deadlineMs: 50_000, connectMs: 5 };
  const second = session.callTool("work");
  await assert.rejects(first.result, { reason: "deadline_exceeded" });
  await assert.rejects(second.result, { reason: "internal_error" });
});

test("a core that hangs in the handshake costs connect the deadline, and the calls that wait for it", async () => {
  const { connect, cores } = fakeConnect((core) => {
    core.terms = { deadlineMs: 5, connectMs: 5 };
  });
  const opening = connect("https://server.test/mcp", { fetch: noFetch });
  await assert.rejects(opening, { method: "initialize", reason: "deadline_exceeded" });
  await turn();
  assert.deepEqual(cores[0].called("destroy"), [[7]]);
});

test("a notification has a second deadline, too", async () => {
  const { session, core } = await fakeSession();
  core.terms = { deadlineMs: 5, connectMs: 5 };
  await assert.rejects(session.notify("notifications/x"), { reason: "deadline_exceeded" });
});

test("every way a call ends clears its timer", async (t) => {
  const set = t.mock.method(globalThis, "setTimeout");
  const cleared = t.mock.method(globalThis, "clearTimeout");
  const { session, core } = await fakeSession();
  core.terms = { deadlineMs: 77_000, connectMs: 5 };
  const calls = [1, 2].map(() => session.callTool("work"));
  const taken = session.notify("notifications/x");
  core.answer(1, { result: 1 });
  core.fail(2);
  core.tell([{ out: "settle", call: 3, at: 1, type: "accepted" }]);
  await Promise.allSettled([...calls.map(({ result }) => result), taken]);
  const left = session.callTool("work");
  await session.close();
  await left.result.catch(() => {});
  const ours = set.mock.calls.filter(({ arguments: [, ms] }) => ms === 77_250).map(({ result }) => result);
  assert.equal(ours.length, 4);
  const gone = new Set(cleared.mock.calls.map(({ arguments: [timer] }) => timer));
  assert.ok(ours.every((timer) => gone.has(timer)));
});

test("close does not wait for a core that hangs", async (t) => {
  const { session, core } = await fakeSession();
  core.on.close = () => undefined;
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const pending = session.callTool("work");
  const closing = session.close();
  t.mock.timers.tick(2_250);
  await closing;
  await assert.rejects(pending.result, { reason: "closed" });
  assert.deepEqual(core.called("destroy"), [[7]]);
});

test("after its last call a process ends by itself", () => {
  const script = `
    import { fakeSession } from "${new URL("support/fake-core.mjs", import.meta.url)}";
    const { session, core } = await fakeSession();
    core.terms = { deadlineMs: 60_000, connectMs: 5 };
    const call = session.callTool("work");
    core.answer(1, { result: "done" });
    console.log(await call.result);`;
  const { status, stdout } = spawnSync(process.execPath, ["--input-type=module", "--eval", script], {
    encoding: "utf8",
    timeout: 20_000,
    cwd: fileURLToPath(new URL(".", import.meta.url)),
  });
  assert.deepEqual([status, stdout], [0, "done\n"]);
});
