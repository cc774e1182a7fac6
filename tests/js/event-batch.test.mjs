// A handler that takes events in arrays: `onEvents`, and a transport's `onevents`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventsOf, fakeSession, startedTransport, turn } from "./support/fake-core.mjs";

const shown = ({ type, message, result }) => message?.params?.data ?? result ?? type;

test("onEvents has all that came in one turn in one array, of several calls and of the session", async () => {
  const arrays = [];
  const { session, core } = await fakeSession({ onEvents: (events) => void arrays.push(events.map(shown)) });
  await turn();
  arrays.length = 0;
  const call = session.callTool("work");
  session.callTool("other");
  core.messages(1, [1, 2]);
  core.messages(2, [3]);
  core.message(undefined, "notifications/message", { data: 4 });
  await turn();
  core.messages(1, [5]);
  core.answer(1, { result: "done" });
  assert.equal(await call, "done");
  await turn();
  assert.deepEqual(arrays, [
    [1, 2, 3, 4],
    [5, "done"],
  ]);
});

test("the events of an array are handled together: at once, by a promise, or not at all", async () => {
  let answer = () => undefined;
  const { session, core } = await fakeSession({ onEvents: () => answer(), logger: false });
  session.callTool("work");
  core.messages(1, [1, 2]);
  await turn();
  assert.deepEqual(core.handled.splice(0), [
    [1, true],
    [2, true],
  ]);
  let release;
  answer = () =>
    new Promise((resolve) => {
      release = resolve;
    });
  core.messages(1, [3, 4]);
  await turn();
  assert.equal(core.handled.length, 2);
  release();
  await turn();
  assert.deepEqual(core.handled.slice(2), [
    [3, true],
    [4, true],
  ]);
  answer = () => {
    throw new Error("no");
  };
  core.messages(1, [5]);
  await turn();
  answer = () => Promise.reject(new Error("no"));
  core.messages(1, [6]);
  await turn();
  assert.deepEqual(core.handled.slice(4), [
    [5, false],
    [6, false],
  ]);
});

test("with a handler for each, one for arrays and a loop an event is handled when all are done with it", async () => {
  const release = [];
  const later = () => new Promise((resolve) => release.push(resolve));
  const { session, core } = await fakeSession({ onEvent: later, onEvents: later });
  const loop = session.callTool("work")[Symbol.asyncIterator]();
  const first = loop.next();
  release.length = 0;
  core.messages(1, [1]);
  await first;
  await turn();
  const [one, array] = release;
  one();
  await turn();
  void loop.next();
  await turn();
  assert.deepEqual(core.handled, []);
  array();
  await turn();
  assert.deepEqual(core.handled, [[1, true]]);
});

test("an array that fails after another handler has failed is not reported again", async () => {
  const failing = () => Promise.reject(new Error("no"));
  const { session, core } = await fakeSession({ onEvent: failing, onEvents: failing, logger: false });
  const loop = session.callTool("work")[Symbol.asyncIterator]();
  const first = loop.next();
  core.messages(1, [1]);
  await first;
  await turn();
  void loop.next();
  await turn();
  assert.deepEqual(core.handled, [[1, false]]);
});

test("a handler that never settles has failed after handlerMs, and an outcome leaves no timer of it", async () => {
  const { session, core } = await fakeSession({
    onEvents: () => new Promise(() => {}),
    timeouts: { handlerMs: 20 },
    logger: false,
  });
  const call = session.callTool("work");
  core.messages(1, [1, 2]);
  while (core.handled.length < 2) await turn();
  assert.deepEqual(core.handled, [
    [1, false],
    [2, false],
  ]);
  const timers = () => process.getActiveResourcesInfo().filter((each) => each === "Timeout").length;
  const before = timers();
  core.messages(1, [3]);
  core.answer(1, { result: 1 });
  await call;
  for (let n = 0; n < 5; n += 1) await Promise.resolve();
  assert.equal(timers(), before);
});

test("what a handler does to the events of an array reaches no loop", async () => {
  const onEvents = (events) => {
    for (const event of events) for (const member of Object.keys(event)) event[member] = "spoilt";
  };
  const { session, core } = await fakeSession({ onEvents });
  const call = session.callTool("work");
  core.messages(1, [1]);
  core.answer(1, { result: "done" });
  assert.deepEqual((await eventsOf(call)).map(shown), [1, "done"]);
});

test("a transport tells onevents the same as onevent, and nothing once it is closed", async () => {
  const given = [];
  const arrays = [];
  const { transport, core } = await startedTransport({
    onevent: (event) => given.push(event.type),
    onevents: (events) => arrays.push(events),
  });
  const sent = transport.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "x" } });
  core.messages(1, [1, 2]);
  core.answer(1, { result: {} });
  await sent;
  await turn();
  assert.deepEqual(
    arrays.flat().map(({ type }) => type),
    given,
  );
  assert.ok(arrays.some((events) => events.length > 1));
  await transport.close();
  const { length } = arrays;
  await turn();
  assert.equal(arrays.length, length);
});
