// The events of a call in arrays.
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventsOf, fakeSession, turn } from "./support/fake-core.mjs";

const shown = ({ type, message, result, code }) => message?.params?.data ?? result ?? code ?? type;
const batch = ({ value }) => value.map(shown);

async function begun(options) {
  const { session, core } = await fakeSession(options);
  const call = session.callTool("work");
  return { core, call, loop: call.batches()[Symbol.asyncIterator]() };
}

test("an array has all that came in one turn, and the last one ends with the outcome", async () => {
  const { core, call } = await begun();
  const arrays = [];
  const looping = (async () => {
    for await (const events of call.batches()) arrays.push(events.map(shown));
  })();
  await turn();
  core.messages(1, [1, 2]);
  core.messages(1, [3]);
  await turn();
  core.messages(1, [4]);
  await turn();
  core.messages(1, [5, 6]);
  core.answer(1, { result: "done" });
  await looping;
  assert.deepEqual(arrays, [[1, 2, 3], [4], [5, 6, "done"]]);
});

test("the events of an array are handled when the loop asks for the next one, or is left", async () => {
  const { core, loop } = await begun();
  const first = loop.next();
  core.messages(1, [1, 2, 3]);
  assert.deepEqual(batch(await first), [1, 2, 3]);
  await turn();
  assert.deepEqual(core.handled, []);
  const second = loop.next();
  await turn();
  const handled = [1, 2, 3].map((key) => [key, true]);
  assert.deepEqual(core.handled, handled);
  core.messages(1, [4]);
  await second;
  await loop.return();
  assert.deepEqual(core.handled, [...handled, [4, true]]);
});

test("a loop that has asked ahead has handled all but the last array", async () => {
  const { core, loop } = await begun();
  const [first, second] = [loop.next(), loop.next()];
  core.messages(1, [1, 2]);
  assert.deepEqual(batch(await first), [1, 2]);
  await turn();
  assert.equal(core.handled.length, 2);
  core.messages(1, [3]);
  assert.deepEqual(batch(await second), [3]);
  await turn();
  assert.equal(core.handled.length, 2);
});

test("what came before the loop is its first array, with what was dropped told first", async () => {
  const { core, loop } = await begun();
  core.messages(
    1,
    Array.from({ length: 1_002 }, (_, n) => n),
  );
  await turn();
  const { value } = await loop.next();
  assert.deepEqual([value.length, shown(value[0]), shown(value[1])], [1_001, "events_dropped", 2]);
  assert.match(value[0].message, /^2 earlier events were dropped/);
});

test("loops over events and over arrays share one queue, and each is told the outcome", async () => {
  const { core, call, loop } = await begun();
  const single = call[Symbol.asyncIterator]();
  const [array, event] = [loop.next(), single.next()];
  core.messages(1, [1, 2]);
  assert.deepEqual(batch(await array), [1, 2]);
  core.messages(1, [3, 4]);
  assert.equal(shown((await event).value), 3);
  assert.deepEqual(batch(await loop.next()), [4]);
  const ends = [single.next(), loop.next()];
  core.answer(1, { result: "done" });
  const [one, last] = await Promise.all(ends);
  assert.deepEqual([shown(one.value), batch(last)], ["done", ["done"]]);
  assert.deepEqual([await single.next(), await loop.next()], Array(2).fill({ done: true, value: undefined }));
  assert.deepEqual((await eventsOf(call)).map(shown), ["done"]);
  for await (const events of call.batches()) assert.deepEqual(events.map(shown), ["done"]);
});

test("what waited for a loop over arrays that is left goes to the one that waits behind it", async () => {
  const { core, call, loop } = await begun();
  const single = call[Symbol.asyncIterator]();
  const asked = [loop.next(), single.next()];
  core.messages(1, [1]);
  const left = loop.return();
  assert.deepEqual(await asked[0], { done: true, value: undefined });
  await left;
  assert.equal(shown((await asked[1]).value), 1);
  core.messages(1, [2]);
  assert.equal(shown((await single.next()).value), 2);
});

test("with a handler, an event of an array is handled when both are done with it", async () => {
  let release;
  const onEvent = () =>
    new Promise((resolve) => {
      release = resolve;
    });
  const { core, loop } = await begun({ onEvent });
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
