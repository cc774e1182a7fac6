// The session of a transport: versions, presets, state, its end.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fakeTransport, startedTransport, turn } from "./support/fake-core.mjs";

const work = (id, more = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name: "work", ...more },
});
const ready = { out: "ready", message: 0 };
const facts = { era: "legacy", sessionId: "s-1", protocolVersion: "2025-11-25" };
const persist = (more) => ({ out: "persist", ...facts, ...more });
const specs = (core) => core.called("call").map(([, , spec]) => spec);

test("the session and its version are those of the Client's initialize, and state can be exported", async () => {
  const { transport, core } = await startedTransport();
  assert.equal(transport.sessionId, undefined);
  assert.equal(transport.protocolVersion, undefined);
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } };
  const sent = transport.send({ jsonrpc: "2.0", id: 0, method: "initialize", params });
  const response = { jsonrpc: "2.0", id: 0, result: { capabilities: { tools: {} } } };
  core.tell(
    [
      persist({
        protocolVersion: "2025-06-18",
        greeting: JSON.stringify(response),
        hello: JSON.stringify(params),
      }),
      ready,
      { out: "settle", call: 1, at: 1, type: "result", message: 0 },
    ],
    [response],
  );
  await sent;
  assert.equal(transport.sessionId, "s-1");
  assert.equal(transport.protocolVersion, "2025-06-18");
  assert.deepEqual(transport.exportState(), {
    version: 1,
    endpoint: "https://server.test/mcp",
    era: "legacy",
    sessionId: "s-1",
    protocolVersion: "2025-06-18",
    greeting: JSON.stringify(response),
    hello: JSON.stringify(params),
    capabilities: { tools: {} },
  });
  assert.deepEqual(JSON.parse(JSON.stringify(transport.exportState())), transport.exportState());
});

test("setProtocolVersion reaches the core before the next message, and a new core after a trap", async () => {
  const { transport, core, cores } = await startedTransport();
  transport.setProtocolVersion("2025-11-25");
  assert.equal(transport.protocolVersion, "2025-11-25");
  void transport.send(work(1)).catch(() => {});
  void transport.send(work(2)).catch(() => {});
  transport.protocolVersion = "2025-06-18";
  void transport.send(work(3)).catch(() => {});
  const told = core.called("set_version").map(([, , version]) => version);
  assert.deepEqual(told, ["2025-11-25", "2025-06-18"]);
  core.on.poll = () => {
    throw new Error("trap");
  };
  core.tell([]);
  await turn();
  void transport.send(work(4)).catch(() => {});
  assert.equal(cores[1].config.session.protocolVersion, "2025-06-18");
});

test("after a trap the next call goes on in the same session, with the Client's own hello", async () => {
  const { transport, core, cores, errors } = await startedTransport();
  const params = { protocolVersion: "2025-11-25" };
  const greeting = transport.send({ jsonrpc: "2.0", id: 0, method: "initialize", params });
  const response = { jsonrpc: "2.0", id: 0, result: {} };
  core.tell(
    [
      persist({ greeting: JSON.stringify(response), hello: JSON.stringify(params) }),
      ready,
      { out: "settle", call: 1, at: 1, type: "result", message: 0 },
    ],
    [response],
  );
  await greeting;
  const lost = transport.send(work(1));
  core.on.poll = () => {
    throw new Error("unreachable");
  };
  core.tell([]);
  await assert.rejects(lost, { reason: "internal_error", outcome: "unknown" });
  assert.equal(errors.length, 1);
  for (let trap = 1; trap < 3; trap += 1) {
    void transport.send(work(1 + trap)).catch(() => {});
    const { carry, session } = cores[trap].config;
    assert.equal(carry, true);
    assert.deepEqual(session, {
      ...facts,
      greeting: JSON.stringify(response),
      hello: JSON.stringify(params),
    });
    cores[trap].on.poll = core.on.poll;
    cores[trap].tell([]);
    await turn();
  }
  assert.equal(transport.sessionId, "s-1");
});

test("a preset session is the core's, is told to the Client, and is left to the server at close", async () => {
  const { transport, core } = await startedTransport({ sessionId: "s-9", protocolVersion: "2025-06-18" });
  assert.equal(transport.sessionId, "s-9");
  assert.equal(transport.protocolVersion, "2025-06-18");
  const { session, terminate } = core.config;
  assert.deepEqual(session, { sessionId: "s-9", protocolVersion: "2025-06-18" });
  assert.equal(terminate, false);
  assert.deepEqual(core.called("set_version"), [], "the core knows it");
  const own = await startedTransport({ sessionId: "s-9", terminateSessionOnClose: true });
  assert.equal(own.core.config.terminate, true);
});

test("terminateSession ends the session and keeps the transport", async () => {
  const { transport, core } = await startedTransport({ sessionId: "s-9" });
  const ended = transport.terminateSession();
  await turn();
  core.tell([{ out: "persist" }, { out: "settle", call: 1, at: 1, type: "accepted" }]);
  await ended;
  assert.equal(transport.sessionId, undefined);
  await transport.terminateSession();
  assert.equal(core.called("terminate").length, 1, "there is none to end any more");
  void transport.send(work(1)).catch(() => {});
  assert.equal(core.called("call").length, 1);
});

test("a session that the server keeps is an error with its status", async () => {
  const { transport, core, errors } = await startedTransport({ sessionId: "s-9" });
  const ended = transport.terminateSession();
  await turn();
  core.fail(1, { method: "DELETE", reason: "http_error", outcome: "rejected", httpStatus: 500 });
  const thrown = await ended.catch((caught) => caught);
  assert.deepEqual([thrown.status, thrown.code], [500, 500]);
  assert.match(thrown.message, /terminate/);
  assert.equal(transport.sessionId, "s-9");
  assert.deepEqual(errors, [thrown]);
});

test("resumeStream resolves when the stream is open, and hands on what comes as it came", async () => {
  const { transport, core, messages, errors } = await startedTransport();
  const tokens = [];
  const resumed = transport.resumeStream("e-5", { onresumptiontoken: (token) => tokens.push(token) });
  await turn();
  const [{ method, resumptionToken, id }] = specs(core);
  assert.deepEqual(
    { method, resumptionToken, id },
    { method: "resume", resumptionToken: "e-5", id: undefined },
  );
  core.tell([{ out: "event", call: 1, at: 1, type: "open", status: 200 }]);
  await resumed;
  core.tell([{ out: "token", call: 1, token: "e-6" }]);
  core.answer(1, { jsonrpc: "2.0", id: 41, result: { late: true } });
  await turn();
  assert.deepEqual(messages, [{ jsonrpc: "2.0", id: 41, result: { late: true } }]);
  assert.deepEqual(tokens, ["e-6"]);
  const refused = transport.resumeStream("e-7");
  await turn();
  core.fail(2, { method: "resume", reason: "resume_rejected" });
  await assert.rejects(refused, { reason: "resume_rejected" });
  assert.equal(errors.length, 1);
});

test("close ends pending sends at once, calls onclose once, and is silent afterwards", async () => {
  const { transport, core, messages, errors } = await startedTransport();
  let closes = 0;
  transport.onclose = () => {
    closes += 1;
    throw new Error("mine");
  };
  const events = [];
  transport.onevent = (event) => events.push(event);
  const sent = transport.send(work(1));
  core.on.close = () => ({
    outputs: [{ out: "settle", call: 1, at: 2, type: "tool_call_failed", method: "tools/call", ...closed }],
  });
  const closing = transport.close();
  await assert.rejects(sent, { reason: "closed" });
  assert.equal(closes, 0);
  core.tell([{ out: "closed" }]);
  await closing;
  await transport.close();
  assert.equal(closes, 1);
  const told = events.length;
  await assert.rejects(transport.send(work(2)), { reason: "closed", outcome: "not_sent" });
  core.message(undefined, "notifications/late", {});
  await turn();
  assert.deepEqual([messages.length, errors.length, events.length], [0, 0, told]);
});

const closed = { reason: "closed", outcome: "unknown", retrySafe: false, text: "closed", diagnostics: {} };

test("close before start loads nothing and still tells onclose", async () => {
  const { transport, cores } = fakeTransport();
  let closes = 0;
  transport.onclose = () => {
    closes += 1;
  };
  await transport.close();
  assert.deepEqual([closes, cores.length], [1, 0]);
});

test("a message that JSON can't carry rejects its send and sends nothing", async () => {
  const { transport, core } = await startedTransport();
  await assert.rejects(transport.send(work(1, { arguments: { n: 1n } })), { name: "ConfigError" });
  assert.equal(core.called("call").length, 0);
});

test("metrics count what no core heard of, too", async () => {
  const { transport } = await startedTransport();
  await assert.rejects(transport.send(work(1), { signal: AbortSignal.abort() }), { reason: "cancelled" });
  assert.equal(transport.metrics({ reset: true }).calls, 1);
  assert.equal(transport.metrics().calls, 0);
  assert.throws(() => transport.metrics({ reset: "yes" }), { name: "ConfigError" });
});

test("a transport has no stderr and pid, is not frozen, and says what it can", () => {
  const { transport } = fakeTransport();
  assert.ok(!("stderr" in transport) && !("pid" in transport) && !Object.isFrozen(transport));
  assert.deepEqual(
    [
      transport.hasPerRequestStream,
      transport.supportsProtocolVersionDiscovery,
      transport.waitsForProtocolVersionDiscovery,
      transport.supportsMcpToolParameterHeaders,
    ],
    [true, true, true, true],
  );
  transport.setSupportedProtocolVersions(["2026-07-28"]);
});

test("finishAuth without an OAuth provider says which entry has one", async () => {
  const { transport } = fakeTransport();
  await assert.rejects(transport.finishAuth("code"), { name: "UnauthorizedError", message: /landfall\/v1/ });
});
