// The wrapper and the real core against the fault server, over real sockets.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { connect } from "../../target/modules/entry/index.js";
import { createFaultServer } from "../server/server.mjs";
import { timed } from "../support/timed.mjs";
import { eventsOf } from "./support/fake-core.mjs";

let server;
const unhandled = [];
const note = (thrown) => unhandled.push(thrown);

before(async () => {
  process.on("unhandledRejection", note);
  process.on("uncaughtException", note);
  server = await createFaultServer();
});
after(async () => {
  await server.close();
  process.off("unhandledRejection", note).off("uncaughtException", note);
  assert.deepEqual(unhandled, []);
});

const open = (options = {}, faults = undefined) => {
  const url = new URL(server.url);
  if (faults !== undefined) url.searchParams.set("faults", JSON.stringify(faults));
  return connect(url, { era: "resumable", ...options });
};
const texts = (events) =>
  events.filter(({ type }) => type === "message").map(({ message }) => message.params.data);

test("a call makes landfall through a reset, a cut inside an event and a polite close", async () => {
  const session = await open();
  const call = session.callTool("scripted", {
    key: "landfall",
    steps: [
      { prime: true, retry: 20 },
      { message: "one" },
      { progress: 1, total: 3 },
      { wait: 30 },
      { cut: "rst" },
      { awaitResume: true },
      { message: "two" },
      { wait: 30 },
      { cut: "inside" },
      { message: "three" },
      { awaitResume: true },
      { message: "four" },
      { close: true },
      { awaitResume: true },
      { message: "five" },
    ],
  });
  const events = await eventsOf(call);
  assert.deepEqual(texts(events), ["one", "two", "three", "four", "five"]);
  const types = events.map(({ type }) => type);
  assert.equal(types.filter((type) => type === "disconnected").length, 2);
  assert.ok(types.includes("polling"));
  assert.ok(types.includes("reconnecting"));
  assert.equal(types.at(-1), "result");
  assert.equal((await call.result).structuredContent.execution, 1);
  assert.equal(server.executions("landfall"), 1);
  await session.close();
});

test("ten calls at once in one session each get their own events", async () => {
  const session = await open();
  const calls = Array.from({ length: 10 }, (_, i) =>
    session.callTool("scripted", {
      key: `many-${i}`,
      steps: [
        { prime: true, retry: 10 },
        { message: `${i}a` },
        { wait: 20 },
        { cut: "rst" },
        { awaitResume: true },
        { message: `${i}b` },
      ],
    }),
  );
  const all = await Promise.all(calls.map(eventsOf));
  for (const [i, events] of all.entries()) {
    assert.deepEqual(texts(events), [`${i}a`, `${i}b`]);
    assert.ok(events.every(({ requestId }) => requestId === calls[i].id));
    assert.equal(server.executions(`many-${i}`), 1);
  }
  await session.close();
});

test("listTools follows the pages", async () => {
  const session = await open();
  const tools = await session.listTools();
  assert.deepEqual(
    tools.map(({ name }) => name),
    ["process_batch", "scripted", "scripted_read", "scripted_idempotent"],
  );
  await session.close();
});

test("a question of the server's in the middle of a call is answered by onRequest", async () => {
  const asked = [];
  const onRequest = async ({ method, params }) => {
    asked.push([method, params.message]);
    return { action: "accept", content: { name: "me" } };
  };
  const session = await open({ onRequest, capabilities: { elicitation: {} } });
  const steps = [{ ask: { method: "elicitation/create", params: { message: "Who?" } } }];
  const result = await session.callTool("scripted", { key: "asked", steps }).result;
  assert.deepEqual(asked, [["elicitation/create", "Who?"]]);
  assert.equal(result.structuredContent.answers.length, 1);
  await session.close();
});

test("a dead session ends the call, with a reason", async () => {
  const session = await open();
  const steps = [{ prime: true, retry: 10 }, { message: "one" }, { wait: 30 }, { killSession: 404 }];
  await assert.rejects(session.callTool("scripted", { key: "dead", steps }).result, {
    name: "ToolCallFailedError",
    reason: "session_lost",
  });
  await session.close();
});

test("nobody at the address is a network_error, not sent", async () => {
  const gone = await createFaultServer();
  await gone.close();
  await assert.rejects(connect(gone.url, { era: "resumable", timeouts: { handshakeMs: 500 } }), {
    name: "ToolCallFailedError",
    method: "initialize",
    reason: "network_error",
    outcome: "not_sent",
  });
});

timed(
  "a server that wants credentials is unauthorized, and a call that stays silent ends by its clocks",
  async () => {
    await assert.rejects(open({}, { initialize: { status: 401 } }), { reason: "unauthorized" });
    const session = await open();
    const call = session.callTool(
      "scripted",
      { key: "silent", steps: [{ prime: true }, { noAnswer: true }] },
      { timeouts: { idleMs: 5_000, callMs: 200, recoveryMs: 250, deadlineMs: 300 } },
    );
    const started = performance.now();
    await assert.rejects(call.result, {
      name: "ToolCallFailedError",
      reason: "call_timeout",
      outcome: "unknown",
    });
    assert.ok(performance.now() - started < 2_000);
    await session.close();
  },
);

test("sessions side by side do not mix", async () => {
  const sessions = await Promise.all([open(), open(), open()]);
  assert.equal(new Set(sessions.map(({ sessionId }) => sessionId)).size, 3);
  const results = await Promise.all(
    sessions.map(
      (session, i) => session.callTool("scripted", { key: `side-${i}`, steps: [{ message: "hi" }] }).result,
    ),
  );
  assert.deepEqual(
    results.map(({ structuredContent }) => structuredContent.key),
    ["side-0", "side-1", "side-2"],
  );
  await Promise.all(sessions.map((session) => session.close()));
});
