// A session that another isolate goes on with, against the fault server.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { connect, LandfallTransport } from "../../target/modules/entry/index.js";
import { createFaultServer } from "../server/server.mjs";

let server;
before(async () => {
  server = await createFaultServer();
});
after(() => server.close());

const era = "resumable";
const started = () => server.log.length;
const since = (start) => server.log.slice(start).map(({ method, rpc }) => rpc ?? method);
const overTheWire = (state) => JSON.parse(JSON.stringify(state));
const run = (session, key, steps = [], options) => session.callTool("scripted", { key, steps }, options);

const factsOf = ({ protocolVersion, sessionId, serverInfo, capabilities }) => ({
  protocolVersion,
  sessionId,
  serverInfo,
  capabilities,
});

/** The state of a session that is left alive. */
async function leftState(url = server.url) {
  const session = await connect(url, { era, terminateSessionOnClose: false });
  await session.close();
  return overTheWire(session.exportState());
}

test("a session goes on where its state is given, with no handshake and the same facts", async () => {
  const first = await connect(server.url, { era, terminateSessionOnClose: false });
  const start = started();
  const second = await connect(server.url, { era, state: overTheWire(first.exportState()) });
  assert.deepEqual(factsOf(second), factsOf(first));
  assert.deepEqual(since(start), [], "nothing was sent yet");
  await run(second, "moved").result;
  const [post] = server.log.slice(start);
  assert.equal(post.session, first.sessionId);
  assert.equal(post.protocolVersion, first.protocolVersion);
  assert.deepEqual(overTheWire(second.exportState()), overTheWire(first.exportState()));
  await Promise.all([first.close(), second.close()]);
});

test("a call goes on by its cursor where its first isolate is gone, and its tool runs once", async () => {
  const first = await connect(server.url, { era, terminateSessionOnClose: false });
  let token;
  // Cut when all was read, and the first isolate is not to come back.
  const before = [{ retry: 60_000 }, { message: "zero" }, { message: "one" }, { ask: { method: "ping" } }];
  const steps = [...before, { cut: "rst" }, { awaitResume: true }, { message: "two" }];
  const call = run(first, "cursor", steps, {
    onresumptiontoken: (each) => {
      token = each;
    },
  });
  for await (const { type } of call) if (type === "reconnecting") break;
  const state = overTheWire(first.exportState());
  await first.close();
  await assert.rejects(call.result, { reason: "closed" });
  const start = started();
  const second = await connect(server.url, { era, state });
  const rest = run(second, "cursor", [], { resumptionToken: token });
  const events = [];
  for await (const event of rest) if (event.type === "message") events.push(event.message.params.data);
  assert.equal(events.at(-1), "two");
  assert.equal((await rest.result).structuredContent.key, "cursor");
  assert.deepEqual(since(start).slice(0, 1), ["GET"]);
  assert.equal(server.executions("cursor"), 1);
  await second.close();
});

test("a session that was taken over is ended only by who says so", async () => {
  const state = await leftState();
  for (const [options, ended] of [
    [{}, []],
    [{ terminateSessionOnClose: true }, ["DELETE"]],
  ]) {
    const start = started();
    await (await connect(server.url, { era, state, ...options })).close();
    assert.deepEqual(since(start), ended);
  }
});

test("a session that the server forgot meanwhile is replaced at the first call", async () => {
  const state = await leftState();
  await (await connect(server.url, { era, state, terminateSessionOnClose: true })).close();
  const session = await connect(server.url, { era, state });
  await run(session, "forgotten").result;
  assert.notEqual(session.sessionId, state.sessionId);
  assert.equal(server.executions("forgotten"), 1);
  await session.close();
});

test("the state of a transport does for a session of landfall's own", async () => {
  const transport = new LandfallTransport(server.url);
  await transport.start();
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } };
  await transport.send({ jsonrpc: "2.0", id: 0, method: "initialize", params });
  await transport.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  const state = overTheWire(transport.exportState());
  const session = await connect(server.url, { era, state });
  assert.equal(session.sessionId, transport.sessionId);
  assert.equal(session.serverInfo.name, "landfall-fault-server");
  await run(session, "adopted").result;
  await session.close();
  await transport.close();
});

test("what is no state, or one of another endpoint, is refused by name before anything is sent", async () => {
  const state = await leftState();
  const start = started();
  const bad = [
    ...[null, 5, "text", [], {}, { ...state, version: 2 }],
    { ...state, endpoint: "https://elsewhere.test/mcp" },
    { ...state, sessionId: "two\r\nlines" },
    { ...state, protocolVersion: "new" },
    { ...state, greeting: "{" },
    { version: 1, endpoint: state.endpoint },
  ];
  for (const each of bad) {
    await assert.rejects(
      connect(server.url, { era, state: each }),
      { name: "ConfigError", option: "state" },
      JSON.stringify(each),
    );
  }
  assert.deepEqual(since(start), []);
});

test("a state holds nothing of the address but origin and path", async () => {
  const state = await leftState(`${server.url}?faults={}`);
  assert.equal(state.endpoint, server.url);
  assert.doesNotMatch(JSON.stringify(state), /faults/);
});
