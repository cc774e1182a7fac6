// A call as a promise, and what else its caller gives and gets beside its events.
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventsOf, fakeSession, turn } from "./support/fake-core.mjs";

test("a call is a promise of its result, as well as an iterable of its events", async (t) => {
  const unhandled = t.mock.fn();
  process.on("unhandledRejection", unhandled);
  t.after(() => process.off("unhandledRejection", unhandled));
  const { session, core } = await fakeSession();
  const [answered, failing] = [session.callTool("work"), session.callTool("work")];
  core.answer(1, { result: { content: [] } });
  core.fail(2);
  const settled = t.mock.fn();
  assert.deepEqual(await answered, { content: [] });
  assert.deepEqual(await answered.finally(settled), { content: [] });
  assert.deepEqual(await answered.then((result) => [result]), [{ content: [] }]);
  await assert.rejects(async () => await failing, { reason: "stream_lost" });
  assert.equal(await failing.catch((error) => error.reason), "stream_lost");
  assert.deepEqual(await Promise.all([answered, answered.result]), [{ content: [] }, { content: [] }]);
  assert.equal((await eventsOf(answered)).at(-1).type, "result");
  assert.equal(settled.mock.callCount(), 1);
  session.callTool("left alone");
  core.fail(3);
  await turn();
  await turn();
  assert.equal(unhandled.mock.callCount(), 0);
});

test("the reason of the signal that cancels a call is the cause of its error", async () => {
  const { session, core } = await fakeSession();
  const controller = new AbortController();
  const why = new Error("changed my mind");
  const [aborted, cancelled, lost] = [1, 2, 3].map(() =>
    session.callTool("work", {}, { signal: controller.signal }),
  );
  cancelled.cancel();
  controller.abort(why);
  for (const call of [1, 2]) core.fail(call, { reason: "cancelled" });
  core.fail(3);
  assert.equal((await aborted.catch((thrown) => thrown)).cause, why);
  assert.equal(
    "cause" in (await cancelled.catch((thrown) => thrown)),
    false,
    "by cancel(), not by the signal",
  );
  assert.equal(
    "cause" in (await lost.catch((thrown) => thrown)),
    false,
    "it was lost before it was cancelled",
  );
});

test("the options may add to _meta, above the params and below nothing but the progress token", async () => {
  const { session, core } = await fakeSession({ callKey: () => "k" });
  session.callTool("work", { n: 1 }, { _meta: { trace: "t" } });
  session.request(
    "resources/read",
    { uri: "x:y", _meta: { trace: "p", kept: 1 } },
    { _meta: { trace: "o" } },
  );
  const metas = core.called("call").map(([, , spec]) => JSON.parse(spec.meta));
  assert.deepEqual(metas, [
    { "landfall/call-key": "k", trace: "t" },
    { "landfall/call-key": "k", trace: "o", kept: 1 },
  ]);
  for (const [_meta, option] of [
    [5, "_meta"],
    [{ progressToken: 1 }, "_meta.progressToken"],
  ])
    assert.throws(() => session.callTool("work", {}, { _meta }), { name: "ConfigError", option });
});

test("a sent event names the tool", async () => {
  const { session, core } = await fakeSession();
  const calls = [session.callTool("work"), session.request("ping")];
  for (const call of [1, 2]) {
    core.tell([{ out: "event", call, at: 2, type: "sent", wireId: `w-${call}`, reissue: false }]);
    core.answer(call, { result: {} });
  }
  const [[tools], [ping]] = await Promise.all(calls.map(eventsOf));
  const sent = { at: 2, type: "sent", reissue: false };
  assert.deepEqual(tools, { ...sent, requestId: "fake-1", wireId: "w-1", tool: "work" });
  assert.deepEqual(ping, { ...sent, requestId: "fake-2", wireId: "w-2" });
});
