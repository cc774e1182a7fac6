// Small promises of a session that nothing else would miss: each test was written after a deliberate break of what it
// states had passed all others (tests/mutants).
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  connectBy,
  eventsOf,
  failure,
  fakeConnect,
  fakeSession,
  noFetch,
  startedTransport,
  turn,
} from "./support/fake-core.mjs";

const address = "https://server.test/mcp";
const nothing = () => {};

test("a session's id is shown in full diagnostics, and else nowhere", async () => {
  const shown = async (diagnostics) => {
    const lines = [];
    const logger = { warn: (line) => lines.push(line) };
    const { core } = await fakeSession({ logger, diagnostics });
    core.ready({}, { sessionId: "session-of-mine" });
    const message = "the server knows no session-of-mine";
    core.tell([{ out: "event", at: 1, type: "warning", code: "malformed_event", message }]);
    await turn();
    return lines.some((line) => line.includes("session-of-mine"));
  };
  assert.deepEqual([await shown("redacted"), await shown("full")], [false, true]);
});

test("what lies behind a gap that ended the call is told to nobody", async () => {
  const events = [];
  const { session, core } = await fakeSession({
    isGap: () => true,
    onEvent: (event) => void events.push(event.type),
  });
  const gap = { out: "event", call: 1, at: 6, type: "gap", kind: "missing", certain: true };
  core.on.gap = () => ({ outputs: [gap, failure(1, { reason: "gap" })] });
  const call = session.callTool("work");
  core.message(1, "notifications/message", { n: 1 });
  core.message(1, "notifications/message", { n: 3 }, "message", { seam: true });
  await assert.rejects(call.result, { reason: "gap" });
  await turn();
  assert.deepEqual(events, ["message", "gap", "tool_call_failed"]);
});

test("what a provider of credentials failed with is no cause of a call that was not refused", async () => {
  const authProvider = { token: () => "t", onUnauthorized: () => Promise.reject(new Error("no user")) };
  const { session, core } = await fakeSession({ authProvider });
  const [refused, lost] = [session.callTool("one"), session.callTool("two")];
  core.tell([{ out: "authorize", call: 1, why: "unauthorized" }]);
  await turn();
  core.fail(1, { reason: "unauthorized", outcome: "rejected", httpStatus: 401 });
  core.fail(2, { reason: "stream_lost" });
  await assert.rejects(refused.result, ({ cause }) => cause.message === "no user");
  await assert.rejects(lost.result, (thrown) => !("cause" in thrown));
});

test("a call that was cancelled is told without what its last request failed with", async () => {
  const { session, core } = await fakeSession({ headers: () => Promise.reject(new Error("no key")) });
  const [given, lost] = [session.callTool("one"), session.callTool("two")];
  for (const call of [1, 2]) await core.open(call, { call }).catch(nothing);
  core.fail(1, { reason: "cancelled", outcome: "not_sent", text: "cancelled" });
  core.fail(2, { reason: "network_error", outcome: "not_sent", text: "not sent" });
  await assert.rejects(
    given.result,
    (thrown) => thrown.message.endsWith(": cancelled") && !("cause" in thrown),
  );
  await assert.rejects(lost.result, ({ message, cause }) => {
    return /no key/.test(message) && cause.message === "no key";
  });
});

test("a notification that went with a lost instance counts as no call", async () => {
  const { session, core } = await fakeSession();
  const sent = [session.callTool("work").result, session.notify("notifications/x")];
  core.on.poll = () => {
    throw new Error("trap");
  };
  core.tell([]);
  for (const each of sent) await assert.rejects(each, { reason: "internal_error" });
  assert.equal(session.metrics().calls, 1);
});

test("a page whose policy forbids the module is told what to allow, in whatever words its browser has", async () => {
  const said = [
    "WebAssembly.compile(): violates the following Content Security policy directive",
    "call to WebAssembly.compile() blocked by CSP",
  ];
  const refused = async (message) => {
    const load = () => Promise.reject(new Error(message));
    return (await connectBy(load, nothing)(address, { fetch: noFetch }).catch((caught) => caught)).message;
  };
  for (const each of said) assert.match(await refused(each), /'wasm-unsafe-eval' to script-src/);
  assert.doesNotMatch(await refused("the disk is full"), /wasm-unsafe-eval/);
});

test("a handler that is late and rejects then has failed once", async () => {
  let refuse;
  const onEvent = () =>
    new Promise((_resolve, reject) => {
      refuse = reject;
    });
  const { session, core } = await fakeSession({ onEvent, timeouts: { handlerMs: 5 } });
  session.callTool("work");
  core.messages(1, [1]);
  while (core.handled.length === 0) await turn();
  refuse(new Error("later"));
  await turn();
  assert.deepEqual(core.handled, [[1, false]]);
});

test("a handler that has settled leaves no timer", async () => {
  const { session, core } = await fakeSession({ onEvent: () => Promise.resolve() });
  session.callTool("work");
  const timers = () => process.getActiveResourcesInfo().filter((each) => each === "Timeout").length;
  const before = timers();
  core.messages(1, [1, 2]);
  await turn();
  assert.equal(core.handled.length, 2);
  assert.equal(timers(), before);
});

test("progress has a total and a message where these are a number and a text, and else neither", async () => {
  const { session, core } = await fakeSession();
  const call = session.callTool("work");
  const progress = (params) => core.message(1, "notifications/progress", params, "progress");
  progress({ progress: 1, total: 2, message: "half" });
  progress({ progress: 2, total: "2", message: 2 });
  core.answer(1, { result: 1 });
  const [first, second] = await eventsOf(call);
  assert.deepEqual([first.total, first.message], [2, "half"]);
  assert.deepEqual(Object.keys(second).sort(), ["at", "progress", "requestId", "type"]);
});

const question = { jsonrpc: "2.0", id: 5, method: "roots/list" };

test("a handler hears when the call that it was asked in has ended, and nothing once it has answered", async () => {
  const signals = [];
  let answer;
  const onRequest = ({ signal }) => {
    signals.push(signal);
    return new Promise((resolve) => {
      answer = resolve;
    });
  };
  const { session, core } = await fakeSession({ onRequest });
  core.tell([{ out: "request", at: 1, message: 0 }], [question]);
  await turn();
  core.tell([{ out: "request_over", id: 5 }]);
  await turn();
  assert.ok(signals[0].aborted);
  core.tell([{ out: "request", at: 1, message: 0 }], [{ ...question, id: 6 }]);
  await turn();
  answer({ roots: [] });
  await turn();
  await session.close();
  assert.ok(!signals[1].aborted);
});

test("a wait that replaces another of its call ends that one, and one that is over is not ended again", async () => {
  const stopped = [];
  let isAtOnce = false;
  const reconnectionScheduler = (reconnect, _delay, attempt) => {
    if (isAtOnce) reconnect();
    return () => stopped.push(attempt);
  };
  const { transport, core } = await startedTransport({ reconnectionScheduler });
  const schedule = (attempt) => core.tell([{ out: "schedule", call: 1, waitMs: 1, attempt }]);
  schedule(1);
  await turn();
  schedule(2);
  await turn();
  assert.deepEqual(stopped, [0]);
  isAtOnce = true;
  schedule(3);
  await turn();
  assert.deepEqual(stopped, [0, 1]);
  await transport.close();
  assert.deepEqual(stopped, [0, 1], "it called back before it returned");
});

test("the wait in place of a scheduler that failed ends with the transport", async () => {
  const reconnectionScheduler = () => {
    throw new Error("mine");
  };
  const { transport, core } = await startedTransport({ reconnectionScheduler });
  core.tell([{ out: "schedule", call: 1, waitMs: 30_000, attempt: 1 }]);
  await turn();
  const timers = () => process.getActiveResourcesInfo().filter((each) => each === "Timeout").length;
  const before = timers();
  await transport.close();
  assert.equal(timers(), before - 1);
});

test("a session that was begun anew has the names that the new one gave, and no others", async () => {
  const { session, core } = await fakeSession();
  core.ready({ serverInfo: { name: "s", version: "1" } }, { sessionId: "session-1" });
  await turn();
  assert.deepEqual([session.sessionId, session.serverInfo?.name], ["session-1", "s"]);
  core.ready();
  await turn();
  assert.ok(!("sessionId" in session) && !("serverInfo" in session));
});

test("what came with the failure of the handshake is told before the end", async () => {
  const events = [];
  const { connect, cores } = fakeConnect();
  const onEvent = ({ type }) => void events.push(type);
  const opening = connect(address, { fetch: noFetch, onEvent });
  await turn();
  cores[0].tell([
    failure(0, { method: "initialize" }),
    { out: "event", at: 1, type: "state", state: "closed" },
  ]);
  await assert.rejects(opening, { reason: "stream_lost" });
  await turn();
  assert.deepEqual(events, ["tool_call_failed", "state"]);
});

test("a session that was closed leaves no timer", async () => {
  const { session, core } = await fakeSession();
  core.on.close = () => undefined;
  const timers = () => process.getActiveResourcesInfo().filter((each) => each === "Timeout").length;
  const before = timers();
  const closing = session.close();
  core.tell([{ out: "closed" }]);
  await closing;
  assert.equal(timers(), before);
});

test("after close a call says that it was closed, also with a signal that was aborted before", async () => {
  const { session } = await fakeSession();
  await session.close();
  const call = session.callTool("work", {}, { signal: AbortSignal.abort() });
  await assert.rejects(call.result, { reason: "closed", outcome: "not_sent" });
});
