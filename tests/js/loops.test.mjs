// The iterators of one call among each other.
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventsOf, fakeSession, turn } from "./support/fake-core.mjs";

test("return() finishes an iterator: it gives nothing more, also where events wait", async () => {
  const { session, core } = await fakeSession();
  const call = session.callTool("work");
  core.tell([1, 2].map((at) => ({ out: "event", call: 1, at, type: "open", status: at })));
  const iterator = call[Symbol.asyncIterator]();
  assert.equal((await iterator.next()).value.status, 1);
  const over = { done: true, value: undefined };
  assert.deepEqual(await iterator.return(), over);
  assert.deepEqual(await iterator.next(), over);
  core.answer(1, { result: "done" });
  await call.result;
  assert.deepEqual(await iterator.next(), over);
  const rest = await eventsOf(call);
  assert.deepEqual(
    rest.map((event) => event.status ?? event.result),
    [2, "done"],
  );
});

test("a next() that was given up takes the outcome from no loop, whether that waits or begins later", async () => {
  const { session, core } = await fakeSession();
  for (const isLater of [false, true]) {
    const call = session.callTool("work");
    const number = isLater ? 2 : 1;
    void call[Symbol.asyncIterator]().next();
    const loop = isLater ? undefined : eventsOf(call);
    await turn();
    core.answer(number, { result: "done" });
    await call.result;
    const events = await (loop ?? eventsOf(call));
    assert.deepEqual(
      events.map(({ result }) => result),
      ["done"],
    );
  }
});

test("iterating a finished call again yields its outcome, however often", async () => {
  const { session, core } = await fakeSession();
  const [answered, failing] = [session.callTool("work"), session.callTool("work")];
  core.tell([{ out: "event", call: 1, at: 0, type: "open", status: 200 }]);
  core.answer(1, { result: "done" });
  core.fail(2);
  await answered;
  const types = async (call) => (await eventsOf(call)).map(({ type }) => type);
  assert.deepEqual(await types(answered), ["open", "result"]);
  for (const again of [1, 2]) {
    assert.deepEqual(await types(answered), ["result"], `${again}`);
    assert.deepEqual(await types(failing), ["tool_call_failed"], `${again}`);
  }
  for await (const { type } of answered) {
    assert.equal(type, "result");
    break;
  }
  assert.deepEqual(await types(answered), ["result"], "also after one that was left at it");
});

test("what a handler or a loop does to an event does not reach the other", async () => {
  const { session, core } = await fakeSession({
    onEvent: (event) => {
      for (const member of Object.keys(event)) event[member] = "spoilt";
    },
  });
  const call = session.callTool("work");
  const loop = eventsOf(call);
  core.tell([{ out: "event", call: 1, at: 0, type: "open", status: 200 }]);
  core.answer(1, { result: "done" });
  const events = await loop;
  assert.deepEqual(
    events.map(({ type }) => type),
    ["open", "result"],
  );
  const failing = session.callTool("work");
  core.fail(2);
  const thrown = await failing.result.catch((caught) => caught);
  assert.deepEqual([thrown.reason, thrown.event.reason], ["stream_lost", "stream_lost"]);
});
