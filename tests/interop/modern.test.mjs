// A call of `connect` at 2026-07-28, against a server that checks each request and cuts where its script says.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { connect, ServerError, ToolCallFailedError } from "../../target/npm/entry/index.js";
import { createModernServer } from "../server/modern/server.mjs";
import { INVALID_TOOLS } from "../server/modern/tools.mjs";
import { CAPABILITIES, CLIENT_INFO, VERSION } from "../server/modern/words.mjs";
import { createFaultServer } from "../server/server.mjs";

const CLIENT = { name: "modern", version: "1.0.0" };
const CAN = { roots: {} };
const QUICK = { baseMs: 20, maxMs: 100 };

let server;
let session;
before(async () => {
  server = await createModernServer();
});
afterEach(async () => {
  await session?.close();
  server.reset();
  server.toolbox.rename("Region");
});
after(() => server.close());

async function open({ faults, ...options } = {}) {
  const query = faults ? `?${new URLSearchParams({ faults: JSON.stringify(faults) })}` : "";
  session = await connect(server.url + query, {
    era: "modern",
    retry: QUICK,
    logger: false,
    clientInfo: CLIENT,
    capabilities: CAN,
    ...options,
  });
  return session;
}

const run = (key, steps, { tool = "scripted", post, args, ...options } = {}) =>
  session.callTool(tool, { key, steps, post, ...args }, options);
const posts = (method, key) => server.log.filter((line) => line.rpc === method && (!key || line.key === key));
const failureOf = (call) =>
  call.then(
    () => assert.fail("it has a result"),
    (error) => error,
  );
async function eventsOf(call) {
  const events = [];
  for await (const event of call) events.push(event);
  return events;
}
async function until(holds) {
  for (const end = Date.now() + 10_000; !holds(); ) {
    assert.ok(Date.now() < end, `not within 10 s: ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

test("each request says by itself who asks, what it can, and what it wants", async () => {
  await open();
  await session.listTools();
  await run("plain", []);
  await session.request("resources/list");
  assert.ok(server.log.length > 3);
  for (const { rpc, mcp, meta, session: id, lastEventId, method } of server.log) {
    assert.deepEqual([meta[VERSION], meta[CLIENT_INFO]], ["2026-07-28", CLIENT]);
    assert.deepEqual(meta[CAPABILITIES].roots, {});
    assert.deepEqual([mcp["mcp-protocol-version"], mcp["mcp-method"]], ["2026-07-28", rpc]);
    assert.equal(mcp["mcp-name"], rpc === "tools/call" ? "scripted" : undefined);
    assert.deepEqual([method, id, lastEventId], ["POST", undefined, undefined]);
  }
});

test("tools with headers that can't be are left out, whatever page they are on", async () => {
  await open();
  const names = (await session.listTools()).map(({ name }) => name);
  assert.deepEqual(names, ["scripted", "scripted_read", "scripted_idempotent", "routed"]);
  assert.ok(INVALID_TOOLS.every((name) => !names.includes(name)));
});

test("arguments go into the headers that their tool wants, as a header can carry them", async () => {
  await open();
  await session.listTools();
  const args = { region: "Münster", priority: 42, dry_run: false, where: { zone: "=?base64?eA==?=" } };
  const { structuredContent } = await run("routed", [], { tool: "routed", args });
  assert.equal(structuredContent.execution, 1);
  await run("without", [], { tool: "routed", args: { region: null } });
  const [{ mcp }] = posts("tools/call", "without");
  assert.deepEqual(
    Object.keys(mcp).filter((name) => name.startsWith("mcp-param")),
    [],
  );
});

test("a tool that was never listed has the headers that its server demands, and so has one that changed", async () => {
  await open();
  const args = { region: "eu", priority: 7 };
  const call = run("unlisted", [], { tool: "routed", args });
  const events = await eventsOf(call);
  assert.equal((await call).structuredContent.execution, 1);
  assert.deepEqual(
    events.filter(({ type }) => type === "reissued").map(({ why }) => why),
    ["status"],
  );
  const listed = posts("tools/list").length;
  assert.ok(listed > 1, "the tool is on a later page");
  server.toolbox.rename("Area");
  await run("renamed", [], { tool: "routed", args });
  const [refused, sent] = posts("tools/call", "renamed");
  assert.equal(refused.code, -32020);
  assert.equal(sent.mcp["mcp-param-area"], "eu");
  const before = posts("tools/list").length;
  await run("known", [], { tool: "routed", args });
  assert.equal(posts("tools/list").length, before, "what was learned holds");
});

test("a server that finds no headers right is believed after the second time", async () => {
  await open();
  const post = { status: 400, error: { code: -32020, message: "Header mismatch" } };
  const error = await failureOf(run("never", [], { post }));
  assert.deepEqual([error.reason, error.outcome], ["protocol_error", "rejected"]);
  assert.equal(posts("tools/call", "never").length, 2);
});

test("a state that says another era than the server speaks costs no call", async (t) => {
  await open({ terminateSessionOnClose: false });
  const state = session.exportState();
  assert.equal(state.era, "modern");
  const legacy = await createFaultServer();
  t.after(() => legacy.close());
  const other = await connect(legacy.url, {
    state: { ...state, endpoint: legacy.url },
    retry: QUICK,
    logger: false,
  });
  t.after(() => other.close());
  assert.equal(other.era, "modern", "nothing is asked before it is needed");
  const call = other.callTool("scripted", { key: "other", steps: [{ progress: 1 }] });
  const events = await eventsOf(call);
  assert.equal((await call).structuredContent.execution, 1);
  assert.ok(events.some(({ type }) => type === "session_replaced"));
  assert.deepEqual([other.era, other.protocolVersion], ["legacy", "2025-11-25"]);
  assert.equal(other.exportState().era, "legacy");
});

test("a method that is not there, and an error without an id, are answers", async () => {
  await open();
  const none = await failureOf(session.request("no/such"));
  assert.ok(none instanceof ServerError, String(none));
  assert.equal(none.code, -32601);
  const body = { jsonrpc: "2.0", id: null, error: { code: -32602, message: "no" } };
  const nameless = await failureOf(run("nameless", [], { post: { status: 400, body } }));
  assert.ok(nameless instanceof ServerError, String(nameless));
  assert.equal(nameless.code, -32602);
  const lacks = await failureOf(run("lacks", [{ require: { sampling: {} } }]));
  assert.equal(lacks.code, -32021);
});

test("an answer comes as a stream or as JSON, and progress with the first", async () => {
  await open();
  const stream = run("stream", [{ progress: 1 }, { comment: true }, { progress: 2, total: 2 }]);
  const progress = (await eventsOf(stream)).filter(({ type }) => type === "progress");
  assert.deepEqual(
    progress.map((event) => event.progress),
    [1, 2],
  );
  assert.equal(
    (await run("json", [{ progress: 1 }], { post: { json: true } })).structuredContent.key,
    "json",
  );
});

for (const cut of ["fin", "rst", "inside", "close"]) {
  const strike = cut === "close" ? { close: true } : { cut };
  const steps = [
    { ignoreCancel: true },
    { progress: 1 },
    { wait: 30 },
    strike,
    { progress: 2 },
    { wait: 30 },
  ];

  test(`a stream that ends by ${cut} before its answer is lost, and a call that does something is not sent again`, async () => {
    await open();
    await session.listTools();
    const error = await failureOf(run(`lost ${cut}`, steps));
    assert.ok(error instanceof ToolCallFailedError, String(error));
    assert.deepEqual([error.reason, error.outcome], ["stream_lost", "unknown"]);
    assert.equal(server.executions(`lost ${cut}`), 1);
  });

  test(`a stream that ends by ${cut} has a call that only reads sent again, under another id, and nothing is resumed`, async () => {
    await open();
    await session.listTools();
    const key = `again ${cut}`;
    const error = await failureOf(run(key, steps, { tool: "scripted_read" }));
    // The script of each request is cut.
    assert.equal(error.reason, "stream_lost");
    const sent = posts("tools/call", key);
    assert.equal(sent.length, 3);
    assert.equal(new Set(sent.map(({ id }) => id)).size, 3);
    assert.ok(server.log.every(({ method, lastEventId }) => method === "POST" && lastEventId === undefined));
  });
}

test("a call whose connection dies before an answer is sent again where that is safe", async () => {
  await open();
  await session.listTools();
  const post = { cutBeforeHeaders: true, times: 1 };
  const { structuredContent } = await run("safe", [], { tool: "scripted_idempotent", post });
  assert.equal(structuredContent.execution, 1);
  const error = await failureOf(run("unsafe", [], { post }));
  assert.equal(error.outcome, "unknown");
  assert.equal(posts("tools/call", "unsafe").length, 1);
});

for (const [what, post] of Object.entries({ stream: undefined, "body of JSON": { json: true } })) {
  test(`a cancel closes the ${what}, and says no more`, async () => {
    await open();
    const call = run(`cancel ${what}`, [{ wait: 20_000 }], { post });
    await until(() => server.executions(`cancel ${what}`) === 1);
    call.cancel();
    assert.equal((await failureOf(call)).reason, "cancelled");
    await until(() => server.cancels(`cancel ${what}`) === 1);
    assert.deepEqual(posts("notifications/cancelled"), []);
  });
}

test("closing the session tells nobody, for there is none", async () => {
  await open();
  await run("last", []);
  await session.close();
  assert.ok(server.log.every(({ method }) => method === "POST"));
});
