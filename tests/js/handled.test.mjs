// When an event counts as handled: what the wrapper tells the core of each.
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventsOf, failure, fakeSession, turn } from "./support/fake-core.mjs";
import "./support/timers.mjs";

const dataOf = ({ value }) => value.message.params.data;

test("what nobody listens to is handled on arrival, after the whole batch was told", async () => {
  const { session, core } = await fakeSession();
  const seen = [];
  core.on.handled = (...args) => void seen.push([args[3], session.sessionId]);
  const call = session.callTool("work");
  core.messages(1, [1, 2, 3]);
  core.ready({}, { sessionId: "later" });
  await turn();
  assert.deepEqual(core.handled, [
    [1, true],
    [2, true],
    [3, true],
  ]);
  assert.equal(seen[0][1], undefined);
  core.answer(1, { result: 1 });
  assert.equal((await eventsOf(call)).length, 4, "they are kept for a late reader");
  assert.equal(core.handled.length, 3, "and not reported again");
});

test("an event without a key is reported to nobody", async () => {
  const { session, core } = await fakeSession({ onEvent: () => {} });
  session.callTool("work");
  core.message(1, "notifications/message", { data: 1 });
  await turn();
  assert.deepEqual(core.handled, []);
});

test("an event is handled when the promise of onEvent settles, in whatever order they do", async () => {
  const release = new Map();
  const onEvent = ({ message }) => {
    const { data } = message.params;
    return data === 2 ? undefined : new Promise((resolve) => release.set(data, resolve));
  };
  const { session, core } = await fakeSession({ onEvent });
  session.callTool("work");
  core.messages(1, [1, 2, 3]);
  await turn();
  assert.deepEqual(core.handled, [[2, true]]);
  release.get(3)();
  await turn();
  release.get(1)();
  await turn();
  assert.deepEqual(core.handled, [
    [2, true],
    [3, true],
    [1, true],
  ]);
});

test("a handler that throws or rejects has not handled its event, and the next one comes all the same", async () => {
  const seen = [];
  const onEvent = ({ message }) => {
    const { data } = message.params;
    seen.push(data);
    if (data === 1) throw new Error("thrown");
    if (data === 2) return Promise.reject(new Error("rejected"));
    return Promise.resolve();
  };
  const { session, core } = await fakeSession({ onEvent });
  session.callTool("work");
  core.messages(1, [1, 2, 3]);
  await turn();
  assert.deepEqual(seen, [1, 2, 3]);
  assert.deepEqual(
    core.handled.sort(([a], [b]) => a - b),
    [
      [1, false],
      [2, false],
      [3, true],
    ],
  );
});

test("a handler that never settles has failed after handlerMs, and what it says then is not heard", async () => {
  let release;
  const lines = [];
  const { session, core } = await fakeSession({
    onEvent: () =>
      new Promise((resolve) => {
        release = resolve;
      }),
    timeouts: { handlerMs: 25 },
    logger: { error: (line) => lines.push(line) },
  });
  session.callTool("work");
  const started = performance.now();
  core.messages(1, [1]);
  await turn();
  assert.deepEqual(core.handled, []);
  while (core.handled.length === 0) await turn();
  assert.ok(performance.now() - started >= 24);
  assert.deepEqual(core.handled, [[1, false]]);
  assert.match(lines[0], /handlerMs \(25 ms\)/);
  release();
  await turn();
  assert.equal(core.handled.length, 1);
});

test("a loop has all the time it wants", async () => {
  const { session, core } = await fakeSession({ timeouts: { handlerMs: 5 } });
  const loop = session.callTool("work")[Symbol.asyncIterator]();
  const first = loop.next();
  core.messages(1, [1, 2]);
  await first;
  await new Promise((resolve) => setTimeout(resolve, 30));
  assert.deepEqual(core.handled, []);
  await loop.next();
  assert.deepEqual(core.handled, [[1, true]]);
});

test("an outcome waits for no handler, and leaves no timer of one", async (t) => {
  const set = t.mock.method(globalThis, "setTimeout");
  const cleared = t.mock.method(globalThis, "clearTimeout");
  const { session, core } = await fakeSession({
    onEvent: () => new Promise(() => {}),
    timeouts: { handlerMs: 66_000 },
  });
  const call = session.callTool("work");
  core.messages(1, [1, 2]);
  core.answer(1, { result: "done" });
  assert.equal(await call.result, "done");
  const ours = set.mock.calls.filter(({ arguments: [, ms] }) => ms === 66_000).map(({ result }) => result);
  assert.equal(ours.length, 2);
  const gone = new Set(cleared.mock.calls.map(({ arguments: [timer] }) => timer));
  assert.ok(ours.every((timer) => gone.has(timer)));
});

test("an event is handled when the loop asks for the next one", async () => {
  const { session, core } = await fakeSession();
  const loop = session.callTool("work")[Symbol.asyncIterator]();
  const first = loop.next();
  core.messages(1, [1, 2, 3]);
  assert.equal(dataOf(await first), 1);
  await turn();
  assert.deepEqual(core.handled, []);
  assert.equal(dataOf(await loop.next()), 2);
  assert.deepEqual(core.handled, [[1, true]]);
  assert.equal(dataOf(await loop.next()), 3);
  void loop.next();
  await turn();
  assert.deepEqual(core.handled, [
    [1, true],
    [2, true],
    [3, true],
  ]);
});

test("a loop that has asked ahead has handled all but the last one it got", async () => {
  const { session, core } = await fakeSession();
  const loop = session.callTool("work")[Symbol.asyncIterator]();
  const asked = [loop.next(), loop.next(), loop.next()];
  core.messages(1, [1, 2]);
  assert.deepEqual((await Promise.all(asked.slice(0, 2))).map(dataOf), [1, 2]);
  assert.deepEqual(core.handled, [
    [1, true],
    [2, true],
  ]);
  core.messages(1, [3]);
  await asked[2];
  await turn();
  assert.equal(core.handled.length, 2);
});

test("with a handler and a loop an event is handled when both are done with it", async () => {
  let release;
  const onEvent = () =>
    new Promise((resolve) => {
      release = resolve;
    });
  const { session, core } = await fakeSession({ onEvent });
  const loop = session.callTool("work")[Symbol.asyncIterator]();
  const first = loop.next();
  core.messages(1, [1]);
  await first;
  void loop.next();
  await turn();
  assert.deepEqual(core.handled, []);
  release();
  await turn();
  assert.deepEqual(core.handled, [[1, true]]);
});

test("a handler that fails is reported at once and once, whatever the loop does then", async () => {
  const { session, core } = await fakeSession({ onEvent: () => Promise.reject(new Error("no")) });
  const loop = session.callTool("work")[Symbol.asyncIterator]();
  const first = loop.next();
  core.messages(1, [1]);
  await first;
  await turn();
  assert.deepEqual(core.handled, [[1, false]]);
  void loop.next();
  await turn();
  assert.deepEqual(core.handled, [[1, false]]);
});

test("after a loop was left nobody listens: what it had, what waited and what comes is handled", async () => {
  const { session, core } = await fakeSession();
  const call = session.callTool("work");
  const looping = (async () => {
    for await (const event of call) if (event.message.params.data === 2) break;
  })();
  core.messages(1, [1, 2, 3, 4]);
  await looping;
  await turn();
  const handled = core.handled.map(([key]) => key);
  assert.deepEqual(
    handled.sort((a, b) => a - b),
    [1, 2, 3, 4],
  );
  core.messages(1, [5]);
  await turn();
  assert.deepEqual(core.handled.at(-1), [5, true]);
  core.answer(1, { result: 1 });
  const rest = await eventsOf(call);
  assert.deepEqual(
    rest.map(({ message, result }) => message?.params.data ?? result),
    [3, 4, 5, 1],
  );
});

test("a loop left while another goes on leaves the rest to that one", async () => {
  const { session, core } = await fakeSession();
  const call = session.callTool("work");
  const [one, other] = [1, 2].map(() => call[Symbol.asyncIterator]());
  const firsts = [one.next(), other.next()];
  core.messages(1, [1, 2, 3]);
  await Promise.all(firsts);
  await one.return();
  assert.deepEqual(core.handled, [[1, true]]);
  assert.equal(dataOf(await other.next()), 3);
  assert.deepEqual(core.handled, [
    [1, true],
    [2, true],
  ]);
});

test("a loop that is left while it waits is told that it is over", async () => {
  const { session, core } = await fakeSession();
  const loop = session.callTool("work")[Symbol.asyncIterator]();
  const waiting = loop.next();
  await loop.return();
  assert.deepEqual(await waiting, { done: true, value: undefined });
  core.messages(1, [1]);
  await turn();
  assert.deepEqual(core.handled, [[1, true]]);
});

test("after its outcome nothing is reported of a call", async () => {
  const { session, core } = await fakeSession({ onEvent: () => turn() });
  const call = session.callTool("work");
  const loop = call[Symbol.asyncIterator]();
  void loop.next();
  core.messages(1, [1, 2], [failure(1)]);
  await call.result.catch(() => {});
  await turn();
  await loop.next();
  await turn();
  assert.deepEqual(core.handled, []);
});

test("an event whose handler threw, with the outcome in the same bytes, is reported as skipped before that", async () => {
  const events = [];
  const onEvent = (event) => {
    events.push(event.type);
    if (event.type === "message" && event.message.params.data !== 2) throw new Error("no");
  };
  const { session, core } = await fakeSession({ onEvent });
  const skipped = { out: "event", call: 1, at: 9, type: "event_skipped" };
  core.on.handled = (_handle, _now, _call, _first, _last, ok) => (ok ? undefined : { outputs: [skipped] });
  const call = session.callTool("work");
  core.messages(1, [1, 2, 3], [failure(1, { outcome: "rejected" })]);
  await call.result.catch(() => {});
  await turn();
  const all = ["message", "message", "message", "event_skipped", "event_skipped", "tool_call_failed"];
  assert.deepEqual(events, all);
  assert.deepEqual(
    (await eventsOf(call)).map(({ type }) => type),
    all,
  );
  assert.deepEqual(core.handled, [
    [1, false],
    [2, true],
    [3, false],
  ]);
});

test("a message that can't be parsed was not handled", async () => {
  const { session, core } = await fakeSession();
  session.callTool("work");
  core.tell([{ out: "event", call: 1, at: 5, type: "message", message: 0, key: 8 }], "[[[");
  await turn();
  assert.deepEqual(core.handled, [[8, false]]);
});

test("what a report brings is told, and its trap ends the calls", async () => {
  const { session, core } = await fakeSession();
  const tokens = [];
  const call = session.callTool("work", {}, { onresumptiontoken: (token) => tokens.push(token) });
  core.on.handled = (_handle, _now, made, first, last) => ({
    outputs: [{ out: "token", call: made, token: `t-${first}-${last}` }],
  });
  core.messages(1, [1, 2]);
  await turn();
  assert.deepEqual(tokens, ["t-1-2"], "one report for the batch");
  core.on.handled = () => {
    throw new Error("trap");
  };
  core.messages(1, [3, 4]);
  await assert.rejects(call.result, { reason: "internal_error" });
});

test("a body is not read while the core holds it back", async () => {
  const pulled = [];
  let n = 0;
  const body = new ReadableStream(
    {
      pull(controller) {
        n += 1;
        pulled.push(n);
        controller.enqueue(Uint8Array.of(n));
      },
    },
    { highWaterMark: 0 },
  );
  const { core } = await fakeSession({ fetch: async () => new Response(body) });
  await core.open(1, { call: 1 });
  core.on.push = (_handle, _now, exchange, bytes) => {
    // As with a call that has too many events in hand.
    if (bytes[0] === 2) return { outputs: [{ out: "read", exchange, on: false }] };
    if (bytes[0] === 4) return { outputs: [{ out: "abort", exchange }] };
    return undefined;
  };
  core.tell([{ out: "read", exchange: 1, on: true }]);
  await turn();
  await turn();
  assert.deepEqual(pulled, [1, 2]);
  core.tell([{ out: "read", exchange: 1, on: true }]);
  await turn();
  assert.deepEqual(pulled, [1, 2, 3, 4]);
});
