// The transport as a Client uses it: start, send, close.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ToolCallFailedError } from "../../target/modules/api/errors.js";
import { LandfallTransport } from "../../target/modules/entry/index.js";
import { fakeTransport, startedTransport, turn } from "./support/fake-core.mjs";

const modern = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };
const work = (id, more = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name: "work", ...more },
});
const specs = (core) => core.called("call").map(([, , spec]) => spec);
const state = (promise) =>
  Promise.race([
    promise.then(
      () => "resolved",
      () => "rejected",
    ),
    turn().then(() => "pending"),
  ]);

test("start makes the core ready to carry, sends nothing, and can't be called twice", async () => {
  const { transport, cores } = fakeTransport();
  await transport.start();
  const { carry, listen, terminate, sessionId, auth } = cores[0].config;
  assert.deepEqual(
    { carry, listen, terminate, sessionId, auth },
    { carry: true, listen: true, terminate: false, sessionId: undefined, auth: undefined },
  );
  assert.deepEqual(
    cores[0].log.map(([name]) => name),
    ["create", "connect"],
  );
  await assert.rejects(transport.start(), /already started/);
});

test("start is an ordinary property that a Client may replace and restore", async () => {
  const { transport, cores } = fakeTransport();
  const original = transport.start;
  transport.start = async () => {
    transport.start = original;
  };
  await transport.start();
  assert.equal(cores.length, 0);
  await original.call(transport);
  assert.equal(cores.length, 1);
});

test("a module that can't be had fails start, and a later start tries again", async () => {
  const broken = fakeTransport(
    {},
    {
      prepare: (core, made) => {
        if (made === 0) core.on.create = () => ({ option: "idleMs", message: "idleMs is wrong" });
      },
    },
  );
  await assert.rejects(broken.transport.start(), { name: "ConfigError", option: "idleMs" });
  await broken.transport.start();
});

test("send of a request stays pending until the handler had the response, then resolves", async () => {
  const { transport, core, messages } = await startedTransport();
  const sent = transport.send(work(5, { arguments: { n: 1 } }), { resumptionToken: undefined });
  assert.equal(await state(sent), "pending");
  const [spec] = specs(core);
  assert.deepEqual(
    { method: spec.method, tool: spec.tool, timed: spec.timed, progress: spec.progress },
    { method: "tools/call", tool: "work", timed: true, progress: false },
  );
  assert.deepEqual(JSON.parse(spec.params), { name: "work", arguments: { n: 1 } });
  core.answer(1, { jsonrpc: "2.0", id: "fake-99", result: { content: [] } });
  await sent;
  assert.deepEqual(messages, [{ jsonrpc: "2.0", id: 5, result: { content: [] } }]);
});

test("an error of the server's is an answer, under the Client's own id", async () => {
  const { transport, core, messages } = await startedTransport();
  const sent = transport.send(work("a"));
  const error = { code: -32602, message: "no", data: 1 };
  core.answer(1, { jsonrpc: "2.0", id: null, error });
  await sent;
  assert.deepEqual(messages, [{ jsonrpc: "2.0", id: "a", error }]);
});

test("what no Client's schema takes is made an answer that it takes, or fails the call", async () => {
  const { transport, core, messages } = await startedTransport();
  const sent = transport.send(work("a"));
  core.answer(1, { jsonrpc: "2.0", id: "a", error: { code: 1.5, message: null }, extra: 1 });
  await sent;
  const message = "the server answered with an error that has no message";
  assert.deepEqual(messages, [{ jsonrpc: "2.0", id: "a", error: { code: -32603, message } }]);
  for (const [n, result] of [null, "text", [], 7].entries()) {
    const lost = transport.send(work(n));
    core.answer(n + 2, { jsonrpc: "2.0", id: n, result });
    await assert.rejects(lost, {
      name: "ToolCallFailedError",
      reason: "malformed_response",
      outcome: "unknown",
      tool: "work",
      requestId: n,
    });
  }
  assert.equal(messages.length, 1);
  const last = transport.send(work("z"));
  core.answer(6, { jsonrpc: "2.0", id: "z", result: { content: [], _meta: null } });
  await last;
  assert.deepEqual(messages[1].result, { content: [] });
});

test("an answer of the Client's that the server refused is told to onerror, once, and rejects its send", async () => {
  const { transport, core, errors } = await startedTransport();
  transport.send(work(1)).catch(() => {});
  core.on.answer = () => core.made(2);
  const sent = transport.send({ jsonrpc: "2.0", id: "q", result: {} });
  const message = "our answer to a question of the server's was not taken: the server answered 500";
  core.tell([{ out: "event", call: 1, at: 1, type: "warning", code: "answer_refused", message }]);
  core.fail(2, { reason: "http_error", method: "response", text: "the server answered 500" });
  const thrown = await sent.catch((caught) => caught);
  assert.deepEqual([thrown.reason, thrown.method], ["http_error", "response"]);
  assert.deepEqual(errors, [thrown]);
});

test("a lost call rejects its send with ToolCallFailedError and tells onerror and onevent", async () => {
  const { transport, core, errors } = await startedTransport();
  const events = [];
  transport.onevent = (event) => events.push(event);
  const sent = transport.send(work(1));
  core.fail(1, { reason: "stream_lost", tool: "work" });
  const thrown = await sent.catch((caught) => caught);
  assert.ok(thrown instanceof ToolCallFailedError);
  assert.deepEqual(
    [thrown.reason, thrown.outcome, thrown.requestId, thrown.tool],
    ["stream_lost", "unknown", 1, "work"],
  );
  assert.ok(!("code" in thrown) && !("statusCode" in thrown));
  assert.deepEqual(errors, [thrown]);
  assert.deepEqual(
    events.map(({ type, requestId }) => [type, requestId]),
    [["tool_call_failed", 1]],
  );
});

test("messages and progress reach the handler as they came, and count as handled when it returns", async () => {
  const { transport, core, messages, errors } = await startedTransport();
  const given = transport.onmessage;
  void transport.send(work(1)).catch(() => {});
  core.messages(1, [1, 2]);
  await turn();
  assert.deepEqual(
    messages.map(({ params }) => params.data),
    [1, 2],
  );
  transport.onmessage = (message) => {
    given(message);
    throw new Error("handler");
  };
  core.messages(1, [3]);
  await turn();
  assert.deepEqual(core.handled, [
    [1, true],
    [2, true],
    [3, false],
  ]);
  assert.deepEqual(
    errors.map(({ message }) => message),
    ["handler"],
  );
});

test("a handler that throws at the response does not keep the send pending", async () => {
  const { transport, core, errors } = await startedTransport();
  transport.onmessage = () => {
    throw new Error("unknown id");
  };
  const sent = transport.send(work(1));
  core.answer(1, { jsonrpc: "2.0", id: 1, result: {} });
  await sent;
  assert.equal(errors.length, 1);
});

test("what an asynchronous handler rejects with reaches onerror", async () => {
  const { transport, core, errors } = await startedTransport();
  transport.onmessage = async () => {
    throw new Error("later");
  };
  core.message(undefined, "notifications/message", {});
  await turn();
  assert.deepEqual(
    errors.map(({ message }) => message),
    ["later"],
  );
});

test("messages of no call reach the handler, and onevent", async () => {
  const { transport, core, messages } = await startedTransport();
  const events = [];
  transport.onevent = (event) => events.push(event);
  core.message(undefined, "notifications/tools/list_changed", {});
  core.tell([{ out: "event", at: 3, type: "listen", state: "open" }]);
  await turn();
  assert.deepEqual(
    messages.map(({ method }) => method),
    ["notifications/tools/list_changed"],
  );
  assert.deepEqual(
    events.map(({ type }) => type),
    ["message", "listen"],
  );
});

test("requests of the server's go to the handler, and are their answers to the core, under the same id", async () => {
  const { transport, core, messages } = await startedTransport();
  core.tell([{ out: "request", at: 1, message: 0 }], [{ jsonrpc: "2.0", id: 5, method: "roots/list" }]);
  await turn();
  assert.equal(messages[0].method, "roots/list");
  await transport.send({ jsonrpc: "2.0", id: messages[0].id, result: { roots: [] } });
  await transport.send({ jsonrpc: "2.0", id: "x", error: { code: -32601, message: "no" } });
  assert.deepEqual(
    core.called("answer").map(([, , body]) => body),
    [
      '{"jsonrpc":"2.0","id":5,"result":{"roots":[]}}',
      '{"jsonrpc":"2.0","id":"x","error":{"code":-32601,"message":"no"}}',
    ],
  );
});

test("the Client's notifications/cancelled ends that call with its reason, whatever options come with it", async () => {
  const { transport, core, errors } = await startedTransport();
  const sent = transport.send(work(5));
  void transport.send(work("5")).catch(() => {});
  const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled" };
  await transport.send(
    { ...cancelled, params: { requestId: 5, reason: "McpError: Request timed out" } },
    { resumptionToken: "tok", onresumptiontoken() {} },
  );
  assert.deepEqual(core.called("cancel"), [
    [7, core.called("cancel")[0][1], 1, "McpError: Request timed out"],
  ]);
  core.fail(1, { reason: "cancelled" });
  await assert.rejects(sent, { reason: "cancelled" });
  await transport.send({ ...cancelled, params: { requestId: 5 } });
  await transport.send({ ...cancelled, params: { requestId: 77 } });
  await transport.send(cancelled);
  assert.equal(core.called("cancel").length, 1);
  assert.equal(core.called("notify").length, 0);
  assert.deepEqual(errors, [], "what the caller wished is no error");
});

test("requestSignal and signal cancel the call, and one aborted before sends nothing", async () => {
  for (const name of ["requestSignal", "signal"]) {
    const { transport, core, errors } = await startedTransport();
    const controller = new AbortController();
    void transport.send(work(1), { [name]: controller.signal }).catch(() => {});
    controller.abort();
    assert.equal(core.called("cancel").length, 1, name);
    const late = transport.send(work(2), { [name]: controller.signal });
    await assert.rejects(late, { reason: "cancelled", outcome: "not_sent" });
    assert.equal(core.called("call").length, 1);
    assert.deepEqual(errors, []);
  }
});

test("onRequestStreamEnd is called once when the stream is gone for good, not when the caller gave it up", async () => {
  const { transport, core } = await startedTransport();
  const ended = [];
  const send = (id) => transport.send(work(id), { onRequestStreamEnd: () => ended.push(id) }).catch(() => {});
  const all = [send(1), send(2), send(3), send(4)];
  core.tell([{ out: "event", call: 1, at: 1, type: "disconnected", cause: "network" }]);
  await turn();
  assert.deepEqual(ended, []);
  core.fail(1, { reason: "recovery_exhausted" });
  core.fail(2, { reason: "cancelled" });
  core.answer(3, { jsonrpc: "2.0", id: 3, result: {} });
  await Promise.all(all.slice(0, 3));
  assert.deepEqual(ended, [1, 3]);
  await transport.close();
  assert.deepEqual(ended, [1, 3]);
});

test("an onRequestStreamEnd that throws harms nothing", async () => {
  const { transport, core } = await startedTransport();
  const sent = transport.send(work(1), {
    onRequestStreamEnd() {
      throw new Error("mine");
    },
  });
  core.fail(1);
  await assert.rejects(sent, { reason: "stream_lost" });
});

test("a cursor is taken up and told again, and the response gets the new request's id", async () => {
  const { transport, core, messages } = await startedTransport();
  const tokens = [];
  const options = { resumptionToken: "e-1", onresumptiontoken: (token) => tokens.push(token) };
  const sent = transport.send(work(9), options);
  const [{ resumptionToken, tokens: asked, timed }] = specs(core);
  assert.deepEqual({ resumptionToken, asked, timed }, { resumptionToken: "e-1", asked: true, timed: true });
  core.tell([{ out: "token", call: 1, token: "e-2" }]);
  core.answer(1, { jsonrpc: "2.0", id: 3, result: {} });
  await sent;
  assert.deepEqual(tokens, ["e-2"]);
  assert.equal(messages[0].id, 9);
});

test("notifications are accepted or refused, and a cursor among their options is none of theirs", async () => {
  const { transport, core } = await startedTransport();
  const initialized = { jsonrpc: "2.0", method: "notifications/initialized" };
  const sent = transport.send(initialized, { resumptionToken: "e-1" });
  assert.deepEqual(core.called("notify")[0].slice(2), ["notifications/initialized", ""]);
  core.tell([{ out: "settle", call: 1, at: 1, type: "accepted" }]);
  await sent;
  const lost = transport.send({ jsonrpc: "2.0", method: "notifications/x", params: { a: 1 } });
  assert.equal(core.called("notify")[1][3], '{"a":1}');
  core.fail(2, { method: "notifications/x", reason: "network_error" });
  await assert.rejects(lost, ToolCallFailedError);
});

test("several messages are sent one by one, and settle together", async () => {
  const { transport, core } = await startedTransport();
  const sent = transport.send([work(1), { jsonrpc: "2.0", method: "notifications/x" }, work(2)]);
  assert.equal(core.called("call").length, 2);
  assert.equal(core.called("notify").length, 1);
  core.answer(1, { jsonrpc: "2.0", id: 1, result: {} });
  core.tell([{ out: "settle", call: 2, at: 1, type: "accepted" }]);
  assert.equal(await state(sent), "pending");
  core.answer(3, { jsonrpc: "2.0", id: 2, result: {} });
  await sent;
});

test("progress is asked for where callMs is in force and the Client did not ask, and kept from it", async () => {
  const { transport, core, messages } = await startedTransport({ timeouts: { callMs: 5_000 } });
  const events = [];
  transport.onevent = (event) => events.push(event);
  const timed = { resumptionToken: undefined };
  void transport.send(work(1), timed).catch(() => {});
  void transport.send(work(2, { _meta: { progressToken: 2, a: 1 } }), timed).catch(() => {});
  const [plain, own] = specs(core);
  assert.deepEqual([plain.progress, plain.token], [true, undefined]);
  const token = JSON.parse(own.token);
  assert.deepEqual([own.progress, own.meta], [false, "{}"]);
  assert.deepEqual(JSON.parse(own.params), { name: "work", _meta: { progressToken: token, a: 1 } });
  core.message(1, "notifications/progress", { progressToken: "landfall-1", progress: 1 }, "progress");
  core.message(1, "notifications/progress", { progressToken: token, progress: 3 }, "progress");
  core.message(2, "notifications/progress", { progressToken: token, progress: 4 }, "progress");
  await turn();
  assert.deepEqual(
    messages.map(({ params }) => [params.progressToken, params.progress]),
    [
      [2, 3],
      [2, 4],
    ],
  );
  assert.equal(events.filter(({ type }) => type === "progress").length, 3, "onevent has them all");
});

test("without callMs a Client with a timer is asked for nothing; one without has callMs by default", async () => {
  const { transport, core } = await startedTransport();
  void transport.send(work(1), { resumptionToken: undefined }).catch(() => {});
  void transport.send(work(2)).catch(() => {});
  void transport.send({ jsonrpc: "2.0", id: 3, method: "initialize", params: {} }).catch(() => {});
  assert.deepEqual(
    specs(core).map(({ progress, timed }) => [progress, timed === true]),
    [
      [false, true],
      [true, false],
      [false, false],
    ],
  );
});

test("a callMs by tool is asked for each tool's name", async () => {
  const { transport, core } = await startedTransport({
    timeouts: { callMs: (tool) => (tool === "work" ? 77 : 5) },
  });
  void transport.send(work(1)).catch(() => {});
  void transport.send({ jsonrpc: "2.0", id: 2, method: "ping" }).catch(() => {});
  assert.deepEqual(
    specs(core).map(({ callMs, params }) => [callMs, params]),
    [
      [77, '{"name":"work"}'],
      [undefined, ""],
    ],
  );
});

test("a message with a version in its _meta is modern, and its headers repeat its body", async () => {
  const sent = [];
  const fetch = (_url, { headers }) => {
    const given = new Headers(headers);
    sent.push(["mcp-protocol-version", "mcp-method", "mcp-name"].map((name) => given.get(name)));
    return new Promise(() => {});
  };
  const transport = new LandfallTransport("https://server.test/mcp", { fetch });
  await transport.start();
  const send = (method, params) =>
    transport
      .send({ jsonrpc: "2.0", id: method, method, params: { ...params, _meta: modern } })
      .catch(() => {});
  void send("tools/call", { name: "wörk" });
  void send("resources/read", { uri: "file:///a" });
  void send("server/discover");
  void transport.send(work(1)).catch(() => {});
  await turn();
  assert.deepEqual(sent, [
    ["2026-07-28", "tools/call", "=?base64?d8O2cms=?="],
    ["2026-07-28", "resources/read", "file:///a"],
    ["2026-07-28", "server/discover", null],
    [null, null, null],
  ]);
  assert.equal(transport.exportState().era, "modern");
  await transport.close();
});
