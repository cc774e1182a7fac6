// A session: handshake, events, close.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ServerError, ToolCallFailedError } from "../../target/modules/api/errors.js";
import {
  connectBy,
  eventsOf,
  failure,
  fakeConnect,
  fakeSession,
  noFetch,
  turn,
} from "./support/fake-core.mjs";

const address = "https://server.test/mcp";

test("a session tells what the handshake brought", async () => {
  const { connect, cores } = fakeConnect();
  const opening = connect(new URL(address), { fetch: noFetch, clientInfo: { name: "me", version: "2" } });
  await turn();
  cores[0].ready(
    { serverInfo: { name: "it", version: "3" }, capabilities: { tools: {} } },
    { sessionId: "s-1", protocolVersion: "2025-06-18" },
  );
  const session = await opening;
  const { era, protocolVersion, sessionId, serverInfo, capabilities } = session;
  assert.deepEqual(
    { era, protocolVersion, sessionId, serverInfo, capabilities },
    {
      era: "legacy",
      protocolVersion: "2025-06-18",
      sessionId: "s-1",
      serverInfo: { name: "it", version: "3" },
      capabilities: { tools: {} },
    },
  );
  const { url, clientInfo, seed, terminate, full } = cores[0].config;
  assert.deepEqual(
    { url, clientInfo, terminate, full },
    { url: address, clientInfo: '{"name":"me","version":"2"}', terminate: true, full: false },
  );
  assert.ok(Number.isSafeInteger(seed));
});

test("a server without names or capabilities leaves those members out or empty", async () => {
  const { session } = await fakeSession();
  assert.equal("sessionId" in session, false);
  assert.equal("serverInfo" in session, false);
  assert.deepEqual(session.capabilities, {});
});

test("a session has the instructions that the server gave", async () => {
  const { connect, cores } = fakeConnect();
  const opening = connect(address, { fetch: noFetch });
  await turn();
  cores[0].ready({ instructions: "Call work first." });
  assert.equal((await opening).instructions, "Call work first.");
  const { session } = await fakeSession();
  assert.equal("instructions" in session, false);
});

test("a signal gives the opening of a session up, before, while the module loads, and in the handshake", async () => {
  const why = new Error("gone");
  const failed = async (opening) => {
    const thrown = await opening.catch((caught) => caught);
    assert.ok(thrown instanceof ToolCallFailedError);
    assert.deepEqual([thrown.reason, thrown.method, thrown.cause], ["cancelled", "initialize", why]);
    return thrown.outcome;
  };
  const early = fakeConnect();
  const aborted = early.connect(address, { fetch: noFetch, signal: AbortSignal.abort(why) });
  assert.equal(await failed(aborted), "not_sent");
  assert.equal(early.cores.length, 0);

  const loading = new AbortController();
  const { signal } = loading;
  const never = connectBy(() => new Promise(() => {}));
  const waiting = never(address, { fetch: noFetch, signal });
  await turn();
  loading.abort(why);
  assert.equal(await failed(waiting), "not_sent");

  const shaking = new AbortController();
  const { connect, cores } = fakeConnect();
  const events = [];
  const opening = connect(address, {
    fetch: noFetch,
    signal: shaking.signal,
    onEvent: (event) => void events.push(event.type),
  });
  await turn();
  shaking.abort(why);
  assert.equal(await failed(opening), "unknown");
  await turn();
  assert.equal(cores[0].called("close").length, 1, "so that a session that was begun is ended");
  assert.equal(cores[0].called("destroy").length, 1);
  assert.deepEqual(events, ["tool_call_failed"]);
});

test("a session that stands is not touched by the signal that it was opened with", async () => {
  const controller = new AbortController();
  const { session, core } = await fakeSession({ signal: controller.signal });
  controller.abort();
  await turn();
  assert.deepEqual(core.called("close"), []);
  const call = session.callTool("work");
  core.answer(1, { result: 1 });
  assert.equal(await call, 1);
  await assert.rejects(fakeConnect().connect(address, { fetch: noFetch, signal: {} }), {
    name: "ConfigError",
    option: "signal",
  });
});

test("connect rejects with the failure of the handshake, and the core is destroyed", async () => {
  const { connect, cores } = fakeConnect();
  const opening = connect(address, { fetch: noFetch });
  await turn();
  cores[0].fail(0, { method: "initialize", reason: "unauthorized", outcome: "rejected", text: "401" });
  const thrown = await opening.catch((caught) => caught);
  assert.ok(thrown instanceof ToolCallFailedError);
  assert.equal(thrown.method, "initialize");
  assert.equal(thrown.reason, "unauthorized");
  await turn();
  assert.deepEqual(cores[0].called("destroy"), [[7]]);
});

test("connect rejects with the core's own ConfigError, and with the server's error as an answer", async () => {
  const refusing = fakeConnect((core) => {
    core.on.create = () => ({ option: "idleMs", message: "idleMs must be more than connectMs" });
  });
  await assert.rejects(refusing.connect(address, { fetch: noFetch }), {
    name: "ConfigError",
    option: "idleMs",
  });
  const { connect, cores } = fakeConnect();
  const opening = connect(address, { fetch: noFetch });
  await turn();
  cores[0].answer(0, { jsonrpc: "2.0", id: "fake-0", error: { code: -32000, message: "not today" } });
  const thrown = await opening.catch((caught) => caught);
  assert.ok(thrown instanceof ServerError);
  await turn();
  assert.equal(cores[0].called("destroy").length, 1);
});

test("calls that a failed handshake leaves behind have never been sent", async () => {
  const { session, core, cores } = await fakeSession();
  core.on.poll = () => {
    throw new Error("trap");
  };
  core.tell([]);
  await turn();
  const call = session.callTool("work");
  await turn();
  cores[1].fail(0, { method: "initialize", reason: "network_error", text: "no route" });
  const thrown = await call.result.catch((caught) => caught);
  assert.deepEqual([thrown.reason, thrown.outcome, thrown.retrySafe], ["network_error", "not_sent", true]);
  assert.match(thrown.message, /no route/);
});

test("every event reaches onEvent in order, those of the session too", async () => {
  const seen = [];
  const { session, core } = await fakeSession({ onEvent: (event) => void seen.push(event) });
  seen.length = 0;
  core.tell([{ out: "event", at: 3, type: "state", state: "ready" }]);
  core.message(undefined, "notifications/tools/list_changed", {});
  const call = session.callTool("work");
  core.tell([{ out: "event", call: 1, at: 4, type: "queued" }]);
  core.answer(1, { result: 1 });
  await call.result;
  assert.deepEqual(seen, [
    { at: 3, type: "state", state: "ready" },
    {
      at: 5,
      type: "message",
      message: { jsonrpc: "2.0", method: "notifications/tools/list_changed", params: {} },
    },
    { at: 4, type: "queued", requestId: "fake-1" },
    { at: 9, type: "result", requestId: "fake-1", result: 1 },
  ]);
});

test("handlers and loggers that throw or reject harm nothing", async (t) => {
  const unhandled = t.mock.fn();
  process.on("unhandledRejection", unhandled);
  t.after(() => process.off("unhandledRejection", unhandled));
  const lines = [];
  let throwing = true;
  const logger = {
    error(line) {
      lines.push(line);
      throw new Error("no logs today");
    },
  };
  const onEvent = () => {
    throwing = !throwing;
    if (throwing) throw new Error("thrown");
    return Promise.reject(new Error("rejected"));
  };
  const { session, core } = await fakeSession({ logger, onEvent });
  const call = session.callTool("work");
  core.tell([
    { out: "event", call: 1, at: 4, type: "queued" },
    { out: "event", call: 1, at: 4, type: "open", status: 200 },
  ]);
  core.answer(1, { result: 1 });
  assert.equal((await eventsOf(call)).length, 3);
  assert.equal(await call.result, 1);
  await turn();
  assert.equal(unhandled.mock.callCount(), 0);
  assert.ok(lines.some((line) => line.includes("onEvent threw: thrown")));
  assert.ok(lines.some((line) => line.includes("onEvent threw: rejected")));
});

test("a logger that gives a promise is not waited for, and its rejection is observed", async (t) => {
  const unhandled = t.mock.fn();
  process.on("unhandledRejection", unhandled);
  t.after(() => process.off("unhandledRejection", unhandled));
  const asked = [];
  const reject = (line) => {
    asked.push(line);
    return Promise.reject(new Error("no logs today"));
  };
  const logger = { debug: reject, info: reject, warn: reject, error: reject };
  const { session, core } = await fakeSession({ logger });
  const call = session.callTool("work");
  core.tell([{ out: "event", call: 1, at: 4, type: "open", status: 200 }]);
  core.answer(1, { result: 1 });
  assert.equal(await call.result, 1);
  await turn();
  assert.ok(asked.length >= 2);
  assert.equal(unhandled.mock.callCount(), 0);
});

test("logs hold no arguments, results or messages", async () => {
  const lines = [];
  const write = (line, data) => lines.push(JSON.stringify([line, data]));
  const logger = { debug: write, info: write, warn: write, error: write };
  const { session, core } = await fakeSession({ logger });
  const call = session.callTool("work", { secret: "in" });
  core.message(1, "notifications/message", { data: "secret" });
  core.message(1, "notifications/progress", { progress: 1, message: "secret" }, "progress");
  core.answer(1, { result: "secret" });
  await call.result;
  assert.ok(lines.length >= 3);
  assert.ok(lines.every((line) => !line.includes("secret")));
});

test("a handler may call back into the session", async () => {
  const calls = [];
  const { session, core } = await fakeSession({
    onEvent: (event) => {
      if (event.type === "queued") calls.push(session.callTool("more"));
    },
  });
  const first = session.callTool("work");
  core.tell([{ out: "event", call: 1, at: 4, type: "queued" }]);
  await turn();
  core.answer(2, { result: "two" });
  core.answer(1, { result: "one" });
  assert.equal(await first.result, "one");
  assert.equal(await calls[0].result, "two");
});

test("notify resolves when the server took it, and rejects where it did not", async () => {
  const { session, core } = await fakeSession();
  const taken = session.notify("notifications/roots/list_changed");
  const lost = session.notify("notifications/x", { n: 1 });
  assert.deepEqual(
    core.called("notify").map(([, , ...rest]) => rest),
    [
      ["notifications/roots/list_changed", ""],
      ["notifications/x", '{"n":1}'],
    ],
  );
  core.tell([{ out: "settle", call: 1, at: 2, type: "accepted" }]);
  core.fail(2, { method: "notifications/x", reason: "http_error" });
  assert.equal(await taken, undefined);
  await assert.rejects(lost, { name: "ToolCallFailedError", reason: "http_error" });
  await assert.rejects(session.notify("notifications/x", { n: 1n }), { name: "ConfigError" });
  await assert.rejects(session.notify("notifications/initialized"), { name: "ConfigError" });
});

/** Answers tools/list by `page(cursor)`. */
function servePages(core, page) {
  core.on.call = (_handle, _now, spec) => {
    const call = core.called("call").length;
    core.answer(call, { result: page(JSON.parse(spec.params).cursor) });
    return core.made(call);
  };
}

test("listTools collects all pages, without asking for progress", async () => {
  const { session, core } = await fakeSession();
  const pages = { undefined: ["a", "b"], one: ["c"], two: [], "": ["d"] };
  const next = { undefined: "one", one: "two", two: "" };
  servePages(core, (cursor) => ({
    tools: pages[cursor].map((name) => ({ name })),
    nextCursor: next[cursor],
  }));
  const tools = await session.listTools({ timeouts: { callMs: 5 } });
  assert.deepEqual(
    tools.map(({ name }) => name),
    ["a", "b", "c", "d"],
  );
  const specs = core.called("call").map(([, , spec]) => spec);
  assert.deepEqual(
    specs.map(({ params, progress, callMs }) => [params, progress, callMs]),
    [
      ["{}", false, 5],
      ['{"cursor":"one"}', false, 5],
      ['{"cursor":"two"}', false, 5],
      ['{"cursor":""}', false, 5],
    ],
  );
});

test("listTools ends where a server's cursors make a loop, go on for ever, or its list is none", async () => {
  const { session, core } = await fakeSession();
  servePages(core, () => ({ tools: [{ name: "a" }], nextCursor: "again" }));
  const looping = {
    name: "ToolCallFailedError",
    reason: "protocol_error",
    message: /not whole: .*a cursor a second/,
  };
  await assert.rejects(session.listTools(), looping);
  assert.equal(core.called("call").length, 2);
  servePages(core, () => ({ tools: [{ name: "a" }], nextCursor: "" }));
  await assert.rejects(session.listTools(), { message: /not whole: .*an empty cursor a second time/ });
  assert.equal(core.called("call").length, 4);
  let n = 0;
  servePages(core, () => ({ tools: [], nextCursor: `c${n++}` }));
  await assert.rejects(session.listTools(), { reason: "protocol_error", method: "tools/list" });
  servePages(core, () => ({ tools: "many" }));
  await assert.rejects(session.listTools(), { reason: "malformed_response" });
});

test("close asks the core once, resolves when it is closed, and may be called again", async () => {
  const { session, core } = await fakeSession();
  const pending = session.callTool("work");
  core.on.close = () => ({ outputs: [failure(1, { reason: "closed" })] });
  const closing = session.close();
  assert.equal(session.close(), closing);
  let done = false;
  void closing.then(() => {
    done = true;
  });
  assert.equal((await pending.result.catch((caught) => caught)).reason, "closed");
  await turn();
  assert.equal(done, false, "the DELETE is still under way");
  core.tell([{ out: "closed" }]);
  await closing;
  await session.close();
  assert.equal(core.called("close").length, 1);
  assert.deepEqual(core.called("destroy"), [[7]]);
});

test("after close a call fails as closed and not sent, with no callback and no new core", async () => {
  const seen = [];
  const { session, core, cores } = await fakeSession({ onEvent: (event) => void seen.push(event.type) });
  await session.close();
  seen.length = 0;
  const exports = core.log.length;
  const call = session.callTool("work");
  const [event] = await eventsOf(call);
  assert.deepEqual(
    [event.type, event.reason, event.outcome, event.tool],
    ["tool_call_failed", "closed", "not_sent", "work"],
  );
  await assert.rejects(call.result, { reason: "closed", retrySafe: true });
  await assert.rejects(session.notify("notifications/x"), { reason: "closed" });
  await assert.rejects(session.listTools(), { reason: "closed" });
  call.cancel();
  core.host.schedule();
  await turn();
  assert.deepEqual(seen, []);
  assert.equal(core.log.length, exports);
  assert.equal(cores.length, 1);
});

test("a session can be disposed of where the runtime has Symbol.asyncDispose", async () => {
  const { session, core } = await fakeSession();
  if (typeof Symbol.asyncDispose === "symbol") {
    await session[Symbol.asyncDispose]();
    assert.equal(core.called("close").length, 1);
  }
  assert.equal(Object.hasOwn(session, "undefined"), false);
});

test("what a call still waits for when the core is closed is settled from here", async () => {
  const { session } = await fakeSession();
  const call = session.callTool("work");
  await session.close();
  await assert.rejects(call.result, { reason: "closed", outcome: "unknown" });
});
