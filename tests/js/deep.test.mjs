// Answers that are nested deeper than an engine can write, or read: a server's, in 12 KB.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Client as ClientV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { connect } from "../../target/modules/entry/index.js";
import { LandfallTransport as OfV1 } from "../../target/modules/entry/v1.js";
import { LandfallTransport as OfV2 } from "../../target/modules/entry/v2.js";
import { fakeSession, startedTransport } from "./support/fake-core.mjs";
import { stubServer } from "./support/stub-server.mjs";

const address = "https://server.test/mcp";
const era = "resumable";
const nested = (depth) => "[".repeat(depth) + "]".repeat(depth);
const deep = nested(20_000);

/** The answer to `initialize` with more in it, as text. */
function greeting({ id, params }, more, session) {
  const { protocolVersion } = params;
  const result = `"protocolVersion":"${protocolVersion}","serverInfo":{"name":"deep","version":"1"},${more}`;
  return new Response(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{${result}}}`, {
    headers: { "content-type": "application/json", "mcp-session-id": session },
  });
}

const inResult = `"capabilities":{"tools":{}},"x":${deep}`;
const inCapabilities = `"capabilities":{"experimental":{"x":${deep}}}`;

/** A server whose every `initialize` is answered so; after `forget()` it knows no earlier session. */
function deepServer(more) {
  let sessions = 0;
  let known = "";
  const server = stubServer(({ body, headers, method }) => {
    if (method === "POST" && body.method === "initialize") {
      sessions += 1;
      known = `deep-${sessions}`;
      return greeting(body, more, known);
    }
    const isLost = headers.get("mcp-session-id") !== known;
    return isLost ? new Response("no such session", { status: 404 }) : undefined;
  });
  return Object.assign(server, {
    forget: () => {
      known = "forgotten";
    },
  });
}

for (const [where, more] of Object.entries({ "the result": inResult, "the capabilities": inCapabilities })) {
  test(`a session stands whose initialize was answered with a deep nest in ${where}, again where it is replaced, and elsewhere by its state`, async () => {
    const server = deepServer(more);
    const events = [];
    const onEvent = (event) => void events.push(event.type);
    const session = await connect(address, { era, fetch: server.fetch, onEvent });
    assert.equal((await session.callTool("work").result).content[0].text, "done");
    server.forget();
    assert.equal((await session.callTool("work", {}, { idempotent: true }).result).content[0].text, "done");
    assert.ok(events.includes("session_replaced"), events.join());
    const state = JSON.parse(JSON.stringify(session.exportState()));
    assert.ok(state.greeting.includes(deep), "the state has the answer as it came");
    const other = await connect(address, { era, fetch: server.fetch, state });
    assert.equal((await other.callTool("work").result).content[0].text, "done");
    assert.deepEqual(other.exportState(), session.exportState());
    await Promise.all([session.close(), other.close()]);
  });
}

for (const [sdk, Client, Transport] of [
  ["v1", ClientV1, OfV1],
  ["v2", ClientV2, OfV2],
]) {
  test(`a Client of ${sdk} connects to such a server, and calls its tools`, async () => {
    const server = deepServer(inResult);
    const client = new Client({ name: "deep", version: "1" });
    await client.connect(new Transport(address, { fetch: server.fetch }));
    const { content } = await client.callTool({ name: "work" });
    assert.equal(content[0].text, "done");
    await client.close();
  });
}

test("a refused initialize with a deep nest in its error rejects as others do", async () => {
  const { transport, core } = await startedTransport();
  const sent = transport.send({ jsonrpc: "2.0", id: 0, method: "initialize", params: {} });
  core.tell(
    [{ out: "settle", call: 1, at: 1, type: "result", message: 0, httpStatus: 400 }],
    `[{"jsonrpc":"2.0","id":0,"error":{"code":-32000,"message":"no","data":${deep}}}]`,
  );
  await assert.rejects(sent, { status: 400, message: /no/ });
});

test("where the engine refuses to parse a depth, that call fails as malformed_response and no other is hurt", async (t) => {
  const parse = JSON.parse;
  t.mock.method(JSON, "parse", (text) => {
    if (text.includes(nested(1_000))) throw new RangeError("Maximum call stack size exceeded");
    return parse(text);
  });
  const { session, core } = await fakeSession();
  const calls = [session.callTool("a"), session.callTool("b"), session.callTool("c")];
  const answer = (result) => `{"jsonrpc":"2.0","id":"x]","result":${result}}`;
  core.tell(
    [1, 2, 3].map((call, message) => ({ out: "settle", call, at: 9, type: "result", message })),
    `[${answer('{"x":"[,\\"{"}')},${answer(nested(1_000))},${answer('[[],{},"]"]')}]`,
  );
  assert.deepEqual(await calls[0].result, { x: '[,"{' });
  await assert.rejects(calls[1].result, { reason: "malformed_response", outcome: "unknown" });
  assert.deepEqual(await calls[2].result, [[], {}, "]"]);
});

test("beside a message that the engine refuses, a string of millions of escapes is read", async (t) => {
  const parse = JSON.parse;
  t.mock.method(JSON, "parse", (text) => {
    if (text.includes(nested(1_000))) throw new RangeError("Maximum call stack size exceeded");
    return parse(text);
  });
  const { session, core } = await fakeSession();
  const calls = [session.callTool("a"), session.callTool("b")];
  const answer = (result) => `{"jsonrpc":"2.0","id":"x","result":${result}}`;
  const escapes = 'a\\"'.repeat(2_600_000);
  core.tell(
    [1, 2].map((call, message) => ({ out: "settle", call, at: 9, type: "result", message })),
    `[${answer(nested(1_000))},${answer(`{"x":"${escapes}"}`)}]`,
  );
  await assert.rejects(calls[0].result, { reason: "malformed_response" });
  assert.equal((await calls[1].result).x.length, 2 * 2_600_000);
});

test("a throw of ours while something is told ends that call, is logged, and reaches nobody else", async () => {
  const lines = [];
  const { session, core } = await fakeSession({ logger: { error: (line) => lines.push(line) } });
  const [hit, other] = [session.callTool("a"), session.callTool("b")];
  const event = { out: "event", call: 1, at: 5, type: "open" };
  Object.defineProperty(event, "status", {
    enumerable: true,
    get() {
      throw new RangeError("too deep");
    },
  });
  core.tell(
    [event, { out: "settle", call: 2, at: 9, type: "result", message: 0 }],
    [{ jsonrpc: "2.0", id: "fake-2", result: "done" }],
  );
  await assert.rejects(hit.result, { reason: "internal_error", outcome: "unknown", message: /too deep/ });
  assert.equal(await other.result, "done");
  assert.match(lines.join("\n"), /too deep/);
  assert.deepEqual(
    core.called("cancel").map(([, , call]) => call),
    [1],
  );
});
