// Small promises of the transport that nothing else would miss: each test was written after a deliberate break of what it
// states had passed all others (tests/mutants).
import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigError, ToolCallFailedError } from "../../target/modules/api/errors.js";
import { Instances } from "../../target/modules/core/instance.js";
import { LandfallTransport as OfV2 } from "../../target/modules/entry/v2.js";
import { noSdk } from "../../target/modules/sdk/binding.js";
import { sdkRequestOptions } from "../../target/modules/sdk/request-options.js";
import { ClientTransport } from "../../target/modules/sdk/transport.js";
import { emptyModule, FakeCore, startedTransport, turn } from "./support/fake-core.mjs";
import { address, challenge, memoryProvider, oauthStub } from "./support/oauth-stub.mjs";

const work = (id, more = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name: "work", ...more },
});
const nothing = () => {};
const timed = { resumptionToken: undefined };
const specs = (core) => core.called("call").map(([, , spec]) => spec);

test("an answer of the Client's that lacks the version of JSON-RPC goes out with it", async () => {
  const { transport, core } = await startedTransport();
  await transport.send({ id: 3, result: {} });
  assert.equal(core.called("answer")[0][2], '{"jsonrpc":"2.0","id":3,"result":{}}');
});

test("the handshake asks for no progress, whatever clock is set", async () => {
  const { transport, core } = await startedTransport({ timeouts: { callMs: 5_000 } });
  for (const method of ["initialize", "server/discover", "tools/list"])
    transport.send({ jsonrpc: "2.0", id: method, method, params: {} }, timed).catch(nothing);
  assert.deepEqual(
    specs(core).map(({ progress }) => progress),
    [false, false, true],
  );
});

test("no cursor is none, however it is said", async () => {
  const { transport, core } = await startedTransport();
  for (const resumptionToken of [undefined, null, ""])
    transport.send(work(1), { resumptionToken }).catch(nothing);
  assert.equal(specs(core).length, 3);
  for (const spec of specs(core)) assert.ok(!("resumptionToken" in spec) && spec.timed);
});

test("only a call of a tool has a tool", async () => {
  const { transport, core } = await startedTransport();
  const request = { jsonrpc: "2.0", id: 1, method: "prompts/get", params: { name: "greeting" } };
  transport.send(request).catch(nothing);
  transport.send(work(2)).catch(nothing);
  assert.deepEqual(
    specs(core).map(({ tool }) => tool),
    [undefined, "work"],
  );
});

test("resumeStream does not resolve for a response that opened no stream", async () => {
  const { transport, core } = await startedTransport();
  const resumed = transport.resumeStream("e-1");
  await turn();
  core.tell([{ out: "event", call: 1, at: 1, type: "open", status: 409 }]);
  await turn();
  core.fail(1, { method: "resume", reason: "resume_rejected" });
  await assert.rejects(resumed, { reason: "resume_rejected" });
});

test("sdkRequestOptions leave time for the attempt after a sleep", () => {
  const { timeout } = sdkRequestOptions({ connectMs: 60_000, deadlineMs: 90_000 });
  assert.ok(timeout > 150_000, `${timeout}`);
});

test("the last 4 096 progress tokens are known", async () => {
  const { transport, core, messages } = await startedTransport();
  for (let id = 0; id <= 4_096; id += 1)
    transport.send(work(id, { _meta: { progressToken: id } }), timed).catch(nothing);
  const [first, second] = specs(core).map(({ token }) => JSON.parse(token));
  for (const progressToken of [first, second])
    core.message(undefined, "notifications/progress", { progressToken, progress: 1 });
  await turn();
  assert.deepEqual(
    messages.map(({ params }) => params.progressToken),
    [first, 1],
    "the oldest is nobody's any more",
  );
  await transport.close();
});

test("an id that the Client uses again names the later request, also when the earlier one ends", async () => {
  const { transport, core } = await startedTransport();
  const first = transport.send(work(5));
  const second = transport.send(work(5));
  core.answer(1, { jsonrpc: "2.0", id: 5, result: {} });
  await first;
  const params = { requestId: 5 };
  await transport.send({ jsonrpc: "2.0", method: "notifications/cancelled", params });
  assert.deepEqual(
    core.called("cancel").map(([, , call]) => call),
    [2],
  );
  core.fail(2, { reason: "cancelled" });
  await assert.rejects(second, { reason: "cancelled" });
});

test("a transport whose module could not be loaded asks for it again at the next start", async () => {
  let asked = 0;
  const load = async () => {
    asked += 1;
    if (asked === 1) throw new Error("offline");
    return emptyModule;
  };
  const instances = new Instances(load, () => new FakeCore().exports);
  const transport = new ClientTransport({ instances, sdk: noSdk }, address, {});
  await assert.rejects(transport.start(), { reason: "internal_error", outcome: "not_sent" });
  await transport.start();
  assert.equal(asked, 2);
  await transport.close();
});

test("a module that landfall/slim can't have is no unhandled rejection where nobody waits for it", async () => {
  const slim = await import("../../target/modules/entry/slim.js?alone");
  void slim.initializeWasm(Promise.reject(new Error("offline")));
  await turn();
  await assert.rejects(slim.connect(address), { reason: "internal_error", outcome: "not_sent" });
});

test("a stream for what belongs to no call that is given up is told to onerror", async () => {
  const { core, errors } = await startedTransport();
  const message = "the stream is not opened again";
  core.tell([{ out: "event", at: 1, type: "warning", code: "listen_given_up", message }]);
  core.tell([{ out: "event", at: 1, type: "warning", code: "unmatched_response", message: "other" }]);
  await turn();
  assert.deepEqual(
    errors.map((error) => error.message),
    [message],
  );
});

const meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };
const region = { type: "object", properties: { region: { type: "string", "x-mcp-header": "Region" } } };

test("a further page of a modern list of tools adds to what the first one declared", async () => {
  const { transport, core } = await startedTransport();
  for (const [page, params] of [{ _meta: meta }, { _meta: meta, cursor: "c" }].entries()) {
    const listed = transport.send({ jsonrpc: "2.0", id: page, method: "tools/list", params });
    const tools = [{ name: `tool-${page}`, inputSchema: region }];
    core.answer(page + 1, { jsonrpc: "2.0", id: page, result: { tools } });
    await listed;
  }
  for (const number of [0, 1]) {
    const params = { name: `tool-${number}`, arguments: { region: "eu" }, _meta: meta };
    transport.send({ jsonrpc: "2.0", id: number + 5, method: "tools/call", params }).catch(nothing);
  }
  const declared = core.called("call").map(([, , spec]) => spec.declaredParams);
  assert.deepEqual(declared.slice(-2), [{ Region: "eu" }, { Region: "eu" }]);
  await transport.close();
});

test("a request that was to go on with a stream was sent before, also where it comes after the end", async () => {
  const { transport } = await startedTransport();
  await transport.close();
  const outcome = ({ resumptionToken }) =>
    transport.send(work(1), { resumptionToken }).catch((thrown) => thrown.outcome);
  assert.deepEqual([await outcome({}), await outcome({ resumptionToken: "k1" })], ["not_sent", "unknown"]);
  assert.deepEqual(transport.metrics().outcomes, { not_sent: 1, rejected: 0, unknown: 1 });
});

test("a start after the end fails, and counts as no call", async () => {
  const { transport } = await startedTransport();
  await transport.close();
  const late = new ClientTransport(
    { instances: new Instances(() => emptyModule, nothing), sdk: noSdk },
    address,
  );
  await late.close();
  await assert.rejects(late.start(), { reason: "closed", outcome: "not_sent" });
  assert.equal(late.metrics().calls, 0);
});

test("the version that a Client set is in the state, before the core has heard of it", async () => {
  const { transport } = await startedTransport();
  transport.setProtocolVersion("2025-06-18");
  assert.equal(transport.exportState().protocolVersion, "2025-06-18");
});

test("a failure that an HTTP answer below 300 came with has no marks of a refusal", async () => {
  const { transport, core } = await startedTransport();
  const sent = transport.send(work(1));
  core.fail(1, { reason: "session_lost", httpStatus: 200 });
  const thrown = await sent.catch((caught) => caught);
  assert.ok(thrown instanceof ToolCallFailedError && !("status" in thrown));
});

test("a dump of an error lists neither its event nor its name", () => {
  const event = { type: "tool_call_failed", reason: "closed", message: "m" };
  const keys = Object.keys(new ToolCallFailedError(event));
  assert.ok(keys.includes("reason") && !keys.includes("event") && !keys.includes("name"));
  assert.deepEqual(Object.keys(new ConfigError("fetch", "no")), ["option"]);
});

const insufficient = (scope) => challenge(403, `error="insufficient_scope", scope="${scope}", `);

/** A started transport of the entry for SDK 2, whose provider has these tokens. */
async function ofV2(t, server, tokens) {
  const authProvider = memoryProvider(tokens);
  authProvider.saved.client = { client_id: "client-1" };
  const transport = new OfV2(address, { fetch: server.fetch, listen: false, authProvider });
  t.after(() => transport.close());
  await transport.start();
  return { transport, saved: authProvider.saved };
}

test("v2: what more scope was asked for is not forgotten over a later 401 that names less", async (t) => {
  const refusals = [insufficient("write"), challenge(401, 'scope="read", '), insufficient("admin")];
  const server = oauthStub({ accepts: () => refusals.shift() ?? true });
  const { transport, saved } = await ofV2(t, server, { access_token: "old", token_type: "Bearer" });
  for (const id of [1, 2, 3]) await assert.rejects(transport.send(work(id)));
  const scopes = saved.redirects.map(({ searchParams }) => searchParams.get("scope").split(" ").sort());
  assert.deepEqual(scopes, [["write"], ["read"], ["admin", "read", "write"]]);
});

test("v2: scope that was granted already is had by a refresh, and the user is not asked", async (t) => {
  const refusals = [insufficient("write")];
  const server = oauthStub({
    accepts: () => refusals.shift() ?? true,
    grants: [async () => ({ access_token: "new" })],
  });
  const tokens = { access_token: "old", refresh_token: "r", token_type: "Bearer", scope: "read write" };
  const { transport, saved } = await ofV2(t, server, tokens);
  await transport.send(work(1));
  assert.equal(saved.redirects.length, 0);
  assert.deepEqual(
    server.tokensAsked().map((body) => body.get("grant_type")),
    ["refresh_token"],
  );
});
