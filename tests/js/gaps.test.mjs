// The option isGap: the application judges what came before and after a seam.
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventsOf, failure, fakeSession, turn } from "./support/fake-core.mjs";

const lost = (before, after) => after.n !== before.n + 1;

/** Tells messages `{ n }` of call 1, each its own batch; the one with `seam` is the first after a resume. */
function send(core, n, more = {}) {
  core.message(1, "notifications/message", { n }, "message", more);
}

test("isGap is given the payloads around each seam, of messages and progress alike", async () => {
  const asked = [];
  const isGap = (before, after) => {
    asked.push([before, after]);
    return false;
  };
  const { session, core } = await fakeSession({ isGap });
  session.callTool("work");
  send(core, 1, { seam: true });
  send(core, 2);
  core.message(1, "notifications/progress", { progress: 3 }, "progress", { seam: true });
  send(core, 4, { seam: true });
  await turn();
  assert.deepEqual(asked, [
    [{ n: 2 }, { progress: 3 }],
    [{ progress: 3 }, { n: 4 }],
  ]);
  assert.deepEqual(core.called("gap"), []);
});

test("the payloads of other calls do not count", async () => {
  const asked = [];
  const { session, core } = await fakeSession({ isGap: (...payloads) => asked.push(payloads) });
  for (const name of ["one", "two"]) session.callTool(name);
  send(core, 1);
  core.message(2, "notifications/message", { n: 2 }, "message", { seam: true });
  await turn();
  assert.deepEqual(asked, []);
});

test("a gap is told to the core, and what it does about it comes before the event after the seam", async () => {
  const { session, core } = await fakeSession({ isGap: lost });
  const call = session.callTool("work");
  core.on.gap = () => ({
    outputs: [{ out: "event", call: 1, at: 6, type: "gap", kind: "missing", certain: true }],
  });
  send(core, 1);
  core.messages(1, [0], []);
  core.tell(
    [
      { out: "event", call: 1, at: 5, type: "resumed", level: "L1", replayed: 2, duplicates: 0 },
      { out: "event", call: 1, at: 5, type: "message", message: 0, seam: true },
      { out: "event", call: 1, at: 5, type: "message", message: 1 },
    ],
    [9, 10].map((n) => ({ jsonrpc: "2.0", method: "notifications/message", params: { n } })),
  );
  core.answer(1, { result: 1 });
  const events = await eventsOf(call);
  assert.deepEqual(
    events.map(({ type }) => type),
    ["message", "message", "resumed", "gap", "message", "message", "result"],
  );
  assert.ok(events.every((event) => !("seam" in event) && !("key" in event)));
  assert.deepEqual(
    core.called("gap").map(([handle, , made]) => [handle, made]),
    [[7, 1]],
  );
});

test("a call that the core fails for the gap gives nothing after it", async () => {
  const { session, core } = await fakeSession({ isGap: lost });
  const call = session.callTool("work");
  core.on.gap = () => ({
    outputs: [
      { out: "event", call: 1, at: 6, type: "gap", kind: "missing", certain: true },
      failure(1, { reason: "gap" }),
    ],
  });
  send(core, 1);
  send(core, 3, { seam: true });
  await assert.rejects(call.result, { reason: "gap" });
  assert.deepEqual(
    (await eventsOf(call)).map(({ type }) => type),
    ["message", "gap", "tool_call_failed"],
  );
});

/** A seam with a gap and the answer in the same bytes: the core has ended the call when isGap is asked, and says this. */
async function answeredAcrossGap(...says) {
  const { session, core } = await fakeSession({ isGap: lost });
  const call = session.callTool("work");
  core.on.gap = () => (says.length === 0 ? undefined : { outputs: says });
  send(core, 1);
  core.tell(
    [
      { out: "event", call: 1, at: 5, type: "message", message: 0, seam: true },
      { out: "settle", call: 1, at: 6, type: "result", message: 1 },
    ],
    [{ jsonrpc: "2.0", method: "notifications/message", params: { n: 9 } }, { result: "answer" }],
  );
  const events = await eventsOf(call);
  return { events: events.map(({ type }) => type), last: events.at(-1) };
}

test("where the answer came in the same bytes it is the core that says what the gap means", async () => {
  const gap = { out: "event", call: 1, at: 6, type: "gap", kind: "missing", certain: true };
  const going = await answeredAcrossGap(gap);
  assert.deepEqual(going.events, ["message", "gap", "message", "result"]);
  const failed = await answeredAcrossGap(gap, failure(1, { reason: "gap" }));
  assert.deepEqual(failed.events, ["message", "gap", "tool_call_failed"]);
  assert.equal(failed.last.reason, "gap");
  const unheard = await answeredAcrossGap();
  assert.deepEqual(unheard.events, ["message", "message", "result"]);
});

test("isGap that throws says nothing, and only true says that there is a gap", async () => {
  const ways = [
    () => {
      throw new Error("no");
    },
    () => undefined,
    () => "yes",
  ];
  for (const isGap of ways) {
    const { session, core } = await fakeSession({ isGap });
    session.callTool("work");
    send(core, 1);
    send(core, 9, { seam: true });
    await turn();
    assert.deepEqual(core.called("gap"), []);
  }
});

test("a core that traps over a gap ends its calls", async () => {
  const { session, core } = await fakeSession({ isGap: lost });
  const call = session.callTool("work");
  core.on.gap = () => {
    throw new Error("trap");
  };
  send(core, 1);
  send(core, 9, { seam: true });
  await assert.rejects(call.result, { reason: "internal_error" });
  assert.deepEqual(
    (await eventsOf(call)).map(({ type }) => type),
    ["message", "message", "tool_call_failed"],
  );
});
