// A call as its caller sees it: events, loops, outcome, cancel.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigError, ServerError, ToolCallFailedError } from "../../target/modules/api/errors.js";
import { eventsOf, failure, fakeSession, transmit, turn } from "./support/fake-core.mjs";

test("a call gives its events in order, then one outcome, and then its iteration ends", async () => {
  const { session, core } = await fakeSession();
  const call = session.callTool("work", { n: 1 });
  assert.equal(call.id, "fake-1");
  core.tell([{ out: "event", call: 1, at: 2, type: "open", status: 200 }]);
  core.message(1, "notifications/progress", { progressToken: "fake-1", progress: 3, total: 10 }, "progress");
  core.message(1, "notifications/message", { level: "info", data: "hi" });
  core.answer(1, { jsonrpc: "2.0", id: "fake-1", result: { content: [] } });
  assert.deepEqual(await eventsOf(call), [
    { at: 2, requestId: "fake-1", type: "open", status: 200 },
    { at: 5, requestId: "fake-1", type: "progress", progress: 3, total: 10 },
    {
      at: 5,
      requestId: "fake-1",
      type: "message",
      message: { jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: "hi" } },
    },
    { at: 9, requestId: "fake-1", type: "result", result: { content: [] } },
  ]);
  assert.deepEqual(await call.result, { content: [] });
});

test("a loop that waits gets events as they come", async () => {
  const { session, core } = await fakeSession();
  const iterator = session.callTool("work")[Symbol.asyncIterator]();
  const first = iterator.next();
  const second = iterator.next();
  core.tell([{ out: "event", call: 1, at: 2, type: "queued" }]);
  assert.equal((await first).value.type, "queued");
  core.answer(1, { result: 1 });
  assert.equal((await second).value.type, "result");
  assert.deepEqual(await iterator.next(), { done: true, value: undefined });
});

test("a late reader gets the last 1 000 events, the number of those dropped, and the outcome", async () => {
  const { session, core } = await fakeSession();
  const call = session.callTool("work");
  const outputs = Array.from({ length: 1_017 }, (_, i) => ({
    out: "event",
    call: 1,
    at: i,
    type: "open",
    status: i,
  }));
  core.tell(outputs);
  core.answer(1, { result: "done" });
  await call.result;
  const [warning, first, ...rest] = await eventsOf(call);
  assert.equal(warning.type, "warning");
  assert.equal(warning.code, "events_dropped");
  assert.match(warning.message, /^17 /);
  assert.equal(first.status, 17);
  assert.equal(rest.length, 1_000);
  assert.equal(rest.at(-1).result, "done");
});

test("a reader that has begun loses nothing, however slow it is", async () => {
  const { session, core } = await fakeSession();
  const call = session.callTool("work");
  const iterator = call[Symbol.asyncIterator]();
  core.tell([{ out: "event", call: 1, at: 0, type: "open", status: 0 }]);
  await iterator.next();
  const outputs = Array.from({ length: 3_000 }, (_, i) => ({
    out: "event",
    call: 1,
    at: i,
    type: "open",
    status: i,
  }));
  core.tell(outputs);
  core.answer(1, { result: "done" });
  await call.result;
  for (let i = 0; i < 3_000; i += 1) assert.equal((await iterator.next()).value.status, i);
  assert.equal((await iterator.next()).value.type, "result");
});

test("leaving a loop does not cancel the call, and the next loop goes on where it was left", async () => {
  const { session, core } = await fakeSession();
  const call = session.callTool("work");
  core.tell([1, 2, 3].map((at) => ({ out: "event", call: 1, at, type: "open", status: at })));
  for await (const event of call) {
    assert.equal(event.status, 1);
    break;
  }
  core.answer(1, { result: "done" });
  const rest = await eventsOf(call);
  assert.deepEqual(
    rest.map((event) => event.status ?? event.result),
    [2, 3, "done"],
  );
  assert.deepEqual(core.called("cancel"), []);
});

test("two loops share one queue: each event goes to one of them, the outcome to both, and both end", async () => {
  const { session, core } = await fakeSession();
  const call = session.callTool("work");
  const loops = [eventsOf(call), eventsOf(call)];
  for (let i = 0; i < 10; i += 1) {
    core.tell([{ out: "event", call: 1, at: i, type: "open", status: i }]);
    await turn();
  }
  core.answer(1, { result: "done" });
  const [one, other] = await Promise.all(loops);
  const seen = [...one, ...other].map((event) => event.status ?? event.result);
  assert.deepEqual([one.at(-1).result, other.at(-1).result], ["done", "done"]);
  assert.equal(seen.length, 12);
  assert.equal(new Set(seen).size, 11);
});

test("an error of the server's is an answer: a result event with it, and a ServerError", async () => {
  const { session, core } = await fakeSession();
  const call = session.callTool("work");
  const error = { code: -32602, message: "Unknown tool", data: { name: "work" } };
  core.answer(1, { jsonrpc: "2.0", id: "fake-1", error }, { httpStatus: 400 });
  assert.deepEqual(await eventsOf(call), [{ at: 9, requestId: "fake-1", type: "result", error }]);
  const thrown = await call.result.catch((caught) => caught);
  assert.ok(thrown instanceof ServerError);
  assert.equal(thrown.name, "ServerError");
  assert.equal(thrown.message, "Unknown tool");
  assert.deepEqual([thrown.code, thrown.data, thrown.httpStatus], [-32602, { name: "work" }, 400]);
});

test("an error that breaks its own form still has a code and a message", async () => {
  const { session, core } = await fakeSession();
  const call = session.callTool("work");
  core.answer(1, { jsonrpc: "2.0", id: "fake-1", error: "no" });
  const thrown = await call.result.catch((caught) => caught);
  assert.equal(thrown.code, -32603);
  assert.match(thrown.message, /no message/);
});

test("isError is a result", async () => {
  const { session, core } = await fakeSession();
  const call = session.callTool("work");
  core.answer(1, { result: { isError: true, content: [] } });
  assert.equal((await call.result).isError, true);
});

test("a call without an answer rejects with an error that has the event's fields as its own", async () => {
  const { session, core } = await fakeSession();
  const call = session.callTool("work");
  core.fail(1, { tool: "work" });
  const [event] = await eventsOf(call);
  assert.equal(event.type, "tool_call_failed");
  const told = "tools/call work at https://server.test/mcp failed (stream_lost, unknown): the stream ended";
  assert.equal(event.message, `${told}; the tool may have run`);
  assert.equal("text" in event || "out" in event || "call" in event, false);
  const thrown = await call.result.catch((caught) => caught);
  assert.ok(thrown instanceof ToolCallFailedError && thrown instanceof Error);
  assert.equal(thrown.name, "ToolCallFailedError");
  assert.equal(thrown.message, event.message);
  assert.equal(thrown.event, event);
  for (const field of ["reason", "outcome", "retrySafe", "requestId", "method", "tool", "diagnostics"]) {
    assert.ok(Object.hasOwn(thrown, field), field);
    assert.equal(thrown[field], event[field], field);
  }
  assert.equal("taskId" in thrown, false);
});

test("an error keeps what it says in JSON, and its message in a structured clone", async () => {
  const { session, core } = await fakeSession();
  const call = session.callTool("work");
  core.fail(1, { tool: "work" });
  const thrown = await call.result.catch((caught) => caught);
  const { type: _type, at: _at, ...fields } = thrown.event;
  assert.deepEqual(JSON.parse(JSON.stringify(thrown)), { name: "ToolCallFailedError", ...fields });
  assert.deepEqual(Object.keys(thrown).includes("toJSON"), false);
  const clone = structuredClone(thrown);
  assert.match(clone.message, /^tools\/call work at \S+ failed \(stream_lost, unknown\): .*may have run$/);
  assert.deepEqual(structuredClone(thrown.event), thrown.event);
  const server = new ServerError({ code: -32602, message: "bad", data: [1] });
  const json = { name: "ServerError", message: "bad", code: -32602, data: [1] };
  assert.deepEqual(JSON.parse(JSON.stringify(server)), json);
  const config = { name: "ConfigError", message: "limits is bad", option: "limits" };
  assert.deepEqual(JSON.parse(JSON.stringify(new ConfigError("limits", "limits is bad"))), config);
});

test("a message names method, tool and endpoint without its query, and says of no other call that it ran", async () => {
  const { session, core } = await fakeSession({}, undefined, "https://server.test/mcp?key=secret#part");
  for (const [n, make, why, message] of [
    [
      1,
      () => session.callTool("work"),
      { outcome: "rejected" },
      "tools/call work at PLACE failed (stream_lost, rejected): X",
    ],
    [2, () => session.request("tools/list"), {}, "tools/list at PLACE failed (stream_lost, unknown): X"],
  ]) {
    const call = make();
    core.fail(n, { ...why, ...(n === 1 ? { tool: "work" } : { method: "tools/list" }) });
    const thrown = await call.result.catch((caught) => caught);
    const place = "https://server.test/mcp";
    assert.equal(thrown.message, message.replace("PLACE", place).replace("X", "the stream ended"));
  }
  await session.close();
  const late = await session.callTool("work").result.catch((caught) => caught);
  assert.match(
    late.message,
    /^tools\/call work at https:\/\/server\.test\/mcp failed \(closed, not_sent\): /,
  );
});

test("an endpoint brings no status into a message that callers look for there", async () => {
  const { session, core } = await fakeSession({}, undefined, "https://server.test:40404/405/mcp");
  const call = session.callTool("work");
  core.fail(1);
  const thrown = await call.result.catch((caught) => caught);
  assert.match(thrown.message, / at https:\/\/server\.test:\.\.\.04\/\.\.\.\/mcp failed /);
});

test("a result that nobody reads is no unhandled rejection", async (t) => {
  const unhandled = t.mock.fn();
  process.on("unhandledRejection", unhandled);
  t.after(() => process.off("unhandledRejection", unhandled));
  const { session, core } = await fakeSession();
  session.callTool("work");
  void session.listTools();
  void session.notify("notifications/x");
  core.fail(1);
  core.fail(2, { method: "tools/list" });
  core.fail(3, { method: "notifications/x" });
  await turn();
  await turn();
  assert.equal(unhandled.mock.callCount(), 0);
});

test("making a call tells nothing before it has returned, even of one that has ended already", async () => {
  const seen = [];
  const { session, core } = await fakeSession({ onEvent: (event) => void seen.push(event.type) });
  seen.length = 0;
  core.on.drain = () => ({ outputs: [failure(1, { reason: "queue_full", outcome: "not_sent" })] });
  const call = session.callTool("work");
  assert.deepEqual(seen, []);
  const thrown = await call.result.catch((caught) => caught);
  assert.equal(thrown.reason, "queue_full");
  assert.deepEqual(seen, ["tool_call_failed"]);
});

test("headers of a call go with the requests of that call alone", async () => {
  const sent = [];
  const fetch = async (_url, init) => {
    sent.push(init.headers.get("x-call"));
    return new Response(null);
  };
  const { session, core } = await fakeSession({ fetch, headers: { "x-call": "session" } });
  core.on.drain = () => {
    // The core sends by the export that makes the call, before the wrapper has returned from it.
    return { outputs: [transmit(1, { call: 1 })] };
  };
  session.callTool("work", {}, { headers: { "X-Call": "mine" } });
  void core.open(2, { call: 2 });
  void core.open(3, { method: "DELETE" });
  await turn();
  await turn();
  assert.deepEqual(sent, ["mine", "session", "session"]);
});

test("cancel() asks the core once, and not at all after the end", async () => {
  const { session, core } = await fakeSession();
  const call = session.callTool("work");
  call.cancel();
  call.cancel();
  assert.equal(core.called("cancel").length, 1);
  assert.equal(core.called("cancel")[0][2], 1);
  const other = session.callTool("work");
  core.answer(2, { result: 1 });
  await other.result;
  other.cancel();
  assert.equal(core.called("cancel").length, 1);
});

test("a signal cancels its call, and its listener is gone when the call has ended", async (t) => {
  const { session, core } = await fakeSession();
  const controller = new AbortController();
  const added = t.mock.method(controller.signal, "addEventListener");
  const removed = t.mock.method(controller.signal, "removeEventListener");
  const [one, two] = [1, 2].map(() => session.callTool("work", {}, { signal: controller.signal }));
  core.answer(1, { result: 1 });
  await one.result;
  controller.abort();
  assert.deepEqual(
    core.called("cancel").map(([, , call]) => call),
    [2],
  );
  core.fail(2, { reason: "cancelled" });
  await two.result.catch(() => {});
  const listeners = ({ mock }) => new Set(mock.calls.map(({ arguments: [, listener] }) => listener));
  assert.ok(added.mock.callCount() >= 2);
  assert.deepEqual(listeners(added), listeners(removed));
});

test("a call whose signal was aborted beforehand ends without the core's hearing of it", async () => {
  const seen = [];
  const { session, core } = await fakeSession({ onEvent: (event) => void seen.push(event) });
  core.log.length = 0;
  seen.length = 0;
  const why = new Error("changed my mind");
  const call = session.callTool("work", {}, { signal: AbortSignal.abort(why) });
  assert.deepEqual(seen, []);
  const thrown = await call.result.catch((caught) => caught);
  assert.deepEqual([thrown.reason, thrown.outcome, thrown.tool], ["cancelled", "not_sent", "work"]);
  assert.equal(thrown.cause, why);
  const events = await eventsOf(call);
  assert.deepEqual(events, seen);
  assert.equal(events.length, 1);
  assert.deepEqual(core.log, []);
});

test("the request reaches the core as JSON, with _meta apart", async () => {
  const { session, core } = await fakeSession();
  session.callTool("work", { n: 1, skipped: undefined }, { idempotent: true, timeouts: { callMs: 5 } });
  session.request("resources/read", { uri: "x:y", _meta: { trace: "t" } });
  session.callTool("bare");
  const [first, second, third] = core.called("call").map(([, , spec]) => spec);
  assert.deepEqual(first, {
    method: "tools/call",
    params: '{"name":"work","arguments":{"n":1}}',
    meta: "{}",
    progress: true,
    handled: true,
    tool: "work",
    idempotent: true,
    callMs: 5,
  });
  assert.deepEqual(second, {
    method: "resources/read",
    params: '{"uri":"x:y"}',
    meta: '{"trace":"t"}',
    progress: true,
    handled: true,
  });
  assert.equal(third.params, '{"name":"bare","arguments":{}}');
});

/** An AbortSignal with a method that throws. */
const throwingSignal = (method) =>
  Object.assign(new AbortController().signal, {
    [method]() {
      throw new Error(`no ${method}`);
    },
  });

test("what can't be sent or honoured throws a ConfigError that names it, and makes no call", async () => {
  const { session, core } = await fakeSession();
  const cycle = {};
  cycle.self = cycle;
  const cases = [
    [() => session.callTool(), "name"],
    [() => session.callTool(""), "name"],
    [() => session.callTool({ name: "work" }), "name"],
    [() => session.callTool("work", null), "arguments"],
    [() => session.callTool("work", "text"), "arguments"],
    [() => session.callTool("work", ["list"]), "arguments"],
    [() => session.callTool("work", new Map()), "arguments"],
    [() => session.callTool("work", new Date()), "arguments"],
    [() => session.callTool("work", () => ({})), "arguments"],
    [() => session.callTool("work", { toJSON: () => "text" }), "arguments"],
    [() => session.callTool("work", cycle), "arguments"],
    [() => session.callTool("work", { n: 1n }), "arguments"],
    [() => session.request("x", cycle), "params"],
    [() => session.callTool("work", {}, new Map()), "options"],
    [() => session.callTool("work", {}, []), "options"],
    [() => session.callTool("work", {}, () => {}), "options"],
    [() => session.callTool("work", {}, null), "options"],
    [() => session.request("initialize"), "method"],
    [() => session.request(""), "method"],
    [() => session.request("x", []), "params"],
    [() => session.request("x", new Map()), "params"],
    [() => session.request("x", { _meta: 5 }), "params._meta"],
    [() => session.request("x", { _meta: { progressToken: 1 } }), "params._meta.progressToken"],
    [() => session.callTool("work", {}, { resumptionToken: "" }), "resumptionToken"],
    [() => session.callTool("work", {}, { resumptionToken: 5 }), "resumptionToken"],
    [() => session.callTool("work", {}, { onresumptiontoken: "t" }), "onresumptiontoken"],
    [() => session.callTool("work", {}, { onGap: "stop" }), "onGap"],
    [() => session.callTool("work", {}, { taskId: "t" }), "taskId"],
    [() => session.callTool("work", {}, { signal: {} }), "signal"],
    [() => session.callTool("work", {}, { signal: null }), "signal"],
    [() => session.callTool("work", {}, { signal: { aborted: false, addEventListener() {} } }), "signal"],
    [() => session.callTool("work", {}, { signal: { aborted: false, removeEventListener() {} } }), "signal"],
    [() => session.callTool("work", {}, { signal: throwingSignal("addEventListener") }), "signal"],
    [() => session.callTool("work", {}, { signal: throwingSignal("removeEventListener") }), "signal"],
    [() => session.callTool("work", {}, { idempotent: "yes" }), "idempotent"],
    [() => session.callTool("work", {}, { headers: () => ({}) }), "headers"],
    [() => session.callTool("work", {}, { headers: new Map() }), "headers"],
    [() => session.callTool("work", {}, { headers: [["a", "b"]] }), "headers"],
    [() => session.callTool("work", {}, { headers: null }), "headers"],
    [() => session.callTool("work", {}, { timeouts: new Map([["callMs", 5]]) }), "timeouts"],
    [() => session.callTool("work", {}, { timeouts: [5] }), "timeouts"],
    [() => session.callTool("work", {}, { timeouts: () => {} }), "timeouts"],
    [() => session.callTool("work", {}, { headers: { "bad name": "x" } }), "headers"],
    [() => session.callTool("work", {}, { timeouts: { handshakeMs: 5 } }), "handshakeMs"],
    [() => session.callTool("work", {}, { timeouts: { callMs: "5" } }), "callMs"],
    [() => session.callTool("work", {}, { timeouts: { callMs: () => "5" } }), "callMs"],
    [() => session.callTool("work", {}, { timeouts: { typoMs: 5 } }), "timeouts.typoMs"],
  ];
  for (const [make, option] of cases) {
    assert.throws(make, (thrown) => thrown instanceof ConfigError && thrown.option === option, option);
  }
  assert.deepEqual(core.called("call"), []);
  core.on.call = () => ({
    option: "callMs",
    message: "callMs is over recoveryMs",
  });
  assert.throws(() => session.callTool("work"), { name: "ConfigError", option: "callMs" });
});

test("a progress notification without a number is a message", async () => {
  const { session, core } = await fakeSession();
  const call = session.callTool("work");
  core.message(1, "notifications/progress", { progressToken: "fake-1" }, "progress");
  core.answer(1, { result: 1 });
  const [event] = await eventsOf(call);
  assert.equal(event.type, "message");
  assert.equal(event.message.method, "notifications/progress");
});

test("a warning keeps its text", async () => {
  const { session, core } = await fakeSession();
  const call = session.callTool("work");
  core.tell([
    { out: "event", call: 1, at: 2, type: "warning", code: "null_id", message: "an error without an id" },
  ]);
  core.answer(1, { result: 1 });
  const [event] = await eventsOf(call);
  assert.deepEqual(event, {
    at: 2,
    requestId: "fake-1",
    type: "warning",
    code: "null_id",
    message: "an error without an id",
  });
});

test("messages that the engine can't parse cost the call its answer, and no more", async () => {
  const lines = [];
  const { session, core } = await fakeSession({ logger: { error: (line) => lines.push(line) } });
  const call = session.callTool("work");
  core.tell(
    [
      { out: "event", call: 1, at: 2, type: "message", message: 0 },
      { out: "event", call: 1, at: 2, type: "progress", message: 0 },
      { out: "request", at: 2, message: 0 },
      { out: "settle", call: 1, at: 3, type: "result", message: 1 },
    ],
    "[[[",
  );
  const [event, ...rest] = await eventsOf(call);
  assert.deepEqual([event.reason, event.outcome, rest], ["malformed_response", "unknown", []]);
  assert.equal(lines.length, 3);
  const next = session.callTool("work");
  core.answer(2, { result: 1 });
  assert.equal(await next.result, 1);
});

test("a signal that breaks after the call was made keeps the call from no outcome", async () => {
  const { session, core } = await fakeSession();
  const signals = [1, 2, 3].map(() => new AbortController().signal);
  const calls = signals.map((signal) => session.callTool("work", {}, { signal }));
  for (const signal of signals) {
    signal.removeEventListener = () => {
      throw new Error("no more");
    };
  }
  core.answer(1, { result: "done" });
  core.answer(2, { error: { code: 1, message: "no" } });
  core.fail(3);
  assert.equal(await calls[0].result, "done");
  await assert.rejects(calls[1].result, { name: "ServerError" });
  await assert.rejects(calls[2].result, { reason: "stream_lost" });
  assert.equal((await eventsOf(calls[0])).at(-1).type, "result");
});
