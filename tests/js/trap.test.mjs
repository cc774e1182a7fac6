// An instance that traps: its calls fail, the session goes on in a new one.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  connectBy,
  emptyModule,
  eventsOf,
  FakeCore,
  fakeConnect,
  fakeSession,
  noFetch,
  turn,
} from "./support/fake-core.mjs";

const trap = () => {
  throw new WebAssembly.RuntimeError("unreachable");
};

test("a trap settles the calls of its session with internal_error, unknown, and the panic's text", async () => {
  const { session, core } = await fakeSession();
  const seen = session.callTool("work", {}, { idempotent: true });
  const other = session.request("prompts/list");
  core.tell([{ out: "event", call: 1, at: 2, type: "open", status: 200 }]);
  core.message(1, "notifications/progress", { progress: 1 }, "progress");
  await turn();
  core.on.poll = () => {
    core.host.panicked("index out of bounds");
    trap();
  };
  core.tell([]);
  const events = await eventsOf(seen);
  const last = events.at(-1);
  assert.deepEqual(
    [last.type, last.reason, last.outcome, last.retrySafe, last.method, last.tool],
    ["tool_call_failed", "internal_error", "unknown", true, "tools/call", "work"],
  );
  assert.match(last.message, /index out of bounds/);
  const { diagnostics } = last;
  assert.equal(diagnostics.lastStatus, 200);
  assert.equal(diagnostics.events, 1);
  assert.equal(diagnostics.lastProgressAt, 5);
  assert.ok(diagnostics.endedAt >= diagnostics.startedAt);
  assert.deepEqual([diagnostics.attempts, diagnostics.recent], [[], []]);
  await assert.rejects(other.result, { reason: "internal_error", retrySafe: false });
});

test("a lost instance is retired, and never called again", async () => {
  const { session, core } = await fakeSession();
  const call = session.callTool("work");
  core.on.poll = trap;
  core.tell([]);
  await call.result.catch(() => {});
  assert.equal(core.log.at(-1)[0], "retire");
  const exports = core.log.length;
  call.cancel();
  core.host.schedule();
  await turn();
  assert.equal(core.log.length, exports);
});

/** Ends a fake's instance and waits until that was told. */
async function lose(core) {
  core.on.poll = trap;
  core.tell([]);
  await turn();
}

test("the next call after a trap goes on in the same session, on a fresh instance", async () => {
  const { session, core, cores } = await fakeSession();
  const serverInfo = { name: "it", version: "3" };
  core.ready(
    { serverInfo, capabilities: { tools: {} } },
    { sessionId: "s-2", protocolVersion: "2025-06-18" },
  );
  await turn();
  await lose(core);
  const call = session.callTool("work");
  assert.equal(cores.length, 2);
  assert.deepEqual(
    cores[1].log.map(([name]) => name),
    ["create", "connect", "call"],
  );
  const { session: facts, seed } = cores[1].config;
  const { sessionId, protocolVersion, greeting } = facts;
  assert.deepEqual([sessionId, protocolVersion], ["s-2", "2025-06-18"]);
  assert.deepEqual(JSON.parse(greeting).result, { serverInfo, capabilities: { tools: {} } });
  assert.notEqual(core.config.seed, seed);
  assert.equal(core.config.session, undefined);
  assert.equal(session.sessionId, "s-2", "it is the same while the new core has not spoken");
  cores[1].answer(1, { result: "carried on" });
  assert.equal(await call.result, "carried on");
});

test("what the core told last is what the next one is given, whole, told or not", async () => {
  const { session, core, cores } = await fakeSession();
  const facts = { era: "legacy", sessionId: "s-2", protocolVersion: "2025-06-18", greeting: "{}" };
  core.tell([{ out: "persist", ...facts }]);
  await turn();
  const last = { ...facts, sessionId: "s-3", hello: "{}", location: "https://server.test/mcp/?a" };
  core.on.call = () => ({ ...core.made(1), outputs: [{ out: "persist", ...last }] });
  void session.callTool("told").result.catch(() => {});
  core.on.call = trap;
  // Nothing of the first call was told yet when the second one traps.
  void session.callTool("lost").result.catch(() => {});
  void session.callTool("next").result.catch(() => {});
  assert.equal(cores.length, 2);
  assert.deepEqual(cores[1].config.session, last);
  const state = { version: 1, endpoint: "https://server.test/mcp", capabilities: {} };
  const { location: _location, ...shown } = last;
  assert.deepEqual(session.exportState(), { ...state, ...shown });
});

test("a server without a session is taken up without an id, and without a handshake", async () => {
  const { session, core, cores } = await fakeSession();
  await lose(core);
  session.callTool("work");
  assert.equal("sessionId" in cores[1].config.session, false);
  assert.equal(cores[1].config.session.protocolVersion, "2025-11-25");
  assert.equal(typeof cores[1].config.session.greeting, "string");
});

test("a session that the core replaced is the one that is taken up", async () => {
  const { session, core, cores } = await fakeSession();
  core.ready({}, { sessionId: "first" });
  core.ready({ capabilities: { prompts: {} } }, { sessionId: "second" });
  await turn();
  assert.equal(session.sessionId, "second");
  assert.deepEqual(session.capabilities, { prompts: {} });
  await lose(core);
  session.callTool("work");
  assert.equal(cores[1].config.session.sessionId, "second");
});

test("an instance lost while it takes the session up is followed by a handshake, not by the same again", async () => {
  const { session, core, cores } = await fakeSession({}, (made, n) => {
    if (n === 1) made.on.connect = trap;
  });
  await lose(core);
  await assert.rejects(session.callTool("one").result, { reason: "internal_error" });
  const next = session.callTool("two");
  assert.equal(cores[2].config.session, undefined);
  cores[2].ready({}, { sessionId: "new" });
  cores[2].answer(1, { result: "made landfall" });
  assert.equal(await next.result, "made landfall");
  assert.equal(session.sessionId, "new");
});

test("an instance lost later, over a call, leaves the session to the next one", async () => {
  const { session, core, cores } = await fakeSession({}, (made, n) => {
    if (n > 0) made.on.connect = () => made.ready({}, { sessionId: "s" });
  });
  core.ready({}, { sessionId: "s" });
  await turn();
  await lose(core);
  for (const n of [1, 2, 3]) {
    const call = session.callTool("work");
    assert.equal(cores.length, n + 1);
    assert.equal(cores[n].config.session.sessionId, "s");
    await turn();
    await lose(cores[n]);
    await assert.rejects(call.result, { reason: "internal_error" });
  }
});

test("a core that refuses to take the session up is asked for another one", async () => {
  const { session, core, cores } = await fakeSession({}, (made, n) => {
    if (n === 1) made.on.create = () => ({ option: "sessionId", message: "sessionId is not usable" });
  });
  await lose(core);
  const call = session.callTool("work");
  assert.equal(cores.length, 3);
  assert.equal(cores[2].config.session, undefined);
  cores[2].ready();
  cores[2].answer(1, { result: "made landfall" });
  assert.equal(await call.result, "made landfall");
});

test("close after a trap ends the server's session from a fresh instance, where there is one", async () => {
  const lost = await fakeSession();
  lost.core.ready({}, { sessionId: "s-1" });
  await turn();
  await lose(lost.core);
  await lost.session.close();
  assert.equal(lost.cores.length, 2);
  assert.equal(lost.cores[1].config.session.sessionId, "s-1");
  assert.equal(lost.cores[1].called("close").length, 1);
  assert.deepEqual(lost.cores[1].called("destroy"), [[7]]);

  const sessionless = await fakeSession();
  await lose(sessionless.core);
  await sessionless.session.close();
  assert.equal(sessionless.cores.length, 1);
});

test("a trap inside a caller's own export settles that call, after the caller has it", async () => {
  const seen = [];
  const { session, core } = await fakeSession({ onEvent: (event) => void seen.push(event.type) });
  core.on.call = trap;
  seen.length = 0;
  const call = session.callTool("work");
  assert.deepEqual(seen, []);
  await assert.rejects(call.result, { reason: "internal_error", outcome: "unknown" });
  assert.deepEqual(seen, ["tool_call_failed"]);
});

test("a trap in cancel, close or notify settles what waits", async () => {
  const cancelling = await fakeSession();
  cancelling.core.on.cancel = trap;
  const call = cancelling.session.callTool("work");
  call.cancel();
  await assert.rejects(call.result, { reason: "internal_error" });

  const closing = await fakeSession();
  closing.core.on.close = trap;
  const pending = closing.session.callTool("work");
  await closing.session.close();
  await assert.rejects(pending.result, { name: "ToolCallFailedError" });
  await assert.rejects(closing.session.callTool("work").result, { reason: "closed" });
  assert.equal(closing.cores.length, 1);

  const notifying = await fakeSession();
  notifying.core.on.notify = trap;
  await assert.rejects(notifying.session.notify("notifications/x"), { reason: "internal_error" });
});

test("a trap in the handshake rejects connect", async () => {
  for (const name of ["create", "connect", "poll"]) {
    const { connect, cores } = fakeConnect((core) => {
      core.on[name] = trap;
    });
    const opening = connect("https://server.test/mcp", { fetch: noFetch });
    await turn();
    if (name === "poll") cores[0].host.schedule();
    await assert.rejects(
      opening,
      { name: "ToolCallFailedError", method: "initialize", reason: "internal_error" },
      name,
    );
  }
});

test("a trap aborts the session's exchanges, and what the instance awaits stays silent", async () => {
  const signals = [];
  const fetch = (_url, { signal }) => {
    signals.push(signal);
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  };
  const { core } = await fakeSession({ fetch });
  let settled = false;
  const note = () => {
    settled = true;
  };
  core.open(1).then(note, note);
  await turn();
  core.on.poll = trap;
  core.tell([]);
  await turn();
  assert.equal(signals[0].aborted, true);
  assert.equal(settled, false);
});

test("another session is not touched by a trap", async () => {
  const { session, core, cores, connect } = await fakeSession();
  const opening = connect("https://other.test/mcp", { fetch: noFetch });
  await turn();
  cores[1].ready();
  const other = await opening;
  const call = other.callTool("work");
  const lost = session.callTool("work");
  core.on.poll = trap;
  core.tell([]);
  await assert.rejects(lost.result, { reason: "internal_error" });
  cores[1].answer(1, { result: "unharmed" });
  assert.equal(await call.result, "unharmed");
});

test("where the runtime gives no more instances, sessions share one, and lose it together", async () => {
  const core = new FakeCore();
  const hosts = [];
  core.on.create = (host, config) => {
    hosts.push(host);
    Object.assign(core, { host, config });
    return hosts.length;
  };
  let made = 0;
  const connect = connectBy(
    () => emptyModule,
    () => {
      made += 1;
      // biome-ignore lint/style/useThrowOnlyError: Firefox throws this string
      if (made > 1) throw "out of memory";
      return core.exports;
    },
  );
  const sessions = [];
  for (const handle of [1, 2]) {
    const opening = connect(`https://server.test/${handle}`, { fetch: noFetch });
    await turn();
    core.ready();
    sessions.push(await opening);
  }
  const calls = sessions.map((session) => session.callTool("work"));
  assert.deepEqual(
    core.called("call").map(([handle]) => handle),
    [1, 2],
  );
  core.on.poll = trap;
  hosts[0].schedule();
  for (const call of calls) await assert.rejects(call.result, { reason: "internal_error" });
});

test("where there is no instance at all, connect says so and nothing was sent", async () => {
  const connect = connectBy(
    () => emptyModule,
    () => {
      throw new RangeError("WebAssembly.Instance(): Out of memory");
    },
  );
  const thrown = await connect("https://server.test/mcp", { fetch: noFetch }).catch((caught) => caught);
  assert.deepEqual(
    [thrown.name, thrown.method, thrown.reason, thrown.outcome],
    ["ToolCallFailedError", "initialize", "internal_error", "not_sent"],
  );
  assert.match(thrown.message, /Out of memory/);
  assert.ok(thrown.cause instanceof RangeError);
});
