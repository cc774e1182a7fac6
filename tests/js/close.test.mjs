// What a Client hears of the end of its transport, and when.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Client as ClientV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { LandfallTransport as OfV1 } from "../../target/modules/entry/v1.js";
import { LandfallTransport as OfV2 } from "../../target/modules/entry/v2.js";
import { fakeTransport, startedTransport, turn } from "./support/fake-core.mjs";
import { stubServer } from "./support/stub-server.mjs";

const address = "https://server.test/mcp";
const deletes = ({ requests }) => requests.filter(({ method }) => method === "DELETE").length;

/** A server that refuses the end of its first handshake, and takes its time for a DELETE. */
function reluctant() {
  let isRefused = false;
  return stubServer(async ({ method, body }) => {
    if (method === "DELETE") await sleep(300);
    if (body?.method !== "notifications/initialized" || isRefused) return undefined;
    isRefused = true;
    return new Response("no", { status: 500 });
  });
}

for (const [sdk, Client, Transport] of [
  ["v1", ClientV1, OfV1],
  ["v2", ClientV2, OfV2],
]) {
  test(`after a connect that was refused, a Client of ${sdk} connects by another transport, which nothing tears down`, async () => {
    const server = reluctant();
    const client = new Client({ name: "again", version: "1" });
    const closed = [];
    client.onclose = () => closed.push("closed");
    const open = () => new Transport(address, { fetch: server.fetch, terminateSessionOnClose: true });
    await assert.rejects(client.connect(open()), { status: 500 });
    await client.connect(open());
    const heard = closed.length;
    await sleep(400);
    assert.equal(deletes(server), 1, "the first session was ended");
    assert.equal(closed.length, heard, "nobody told the Client of an end again");
    assert.equal((await client.callTool({ name: "work" })).content[0].text, "done");
    await client.close();
    assert.equal(deletes(server), 2);
  });

  test(`the session of a Client of ${sdk} outlives its transport, unless that is asked to end it`, async () => {
    const server = stubServer();
    const first = new Client({ name: "first", version: "1" });
    const transport = new Transport(address, { fetch: server.fetch });
    await first.connect(transport);
    const { sessionId } = transport;
    await first.close();
    assert.equal(deletes(server), 0);
    const second = new Client({ name: "second", version: "1" });
    await second.connect(new Transport(address, { fetch: server.fetch, sessionId }));
    assert.equal((await second.callTool({ name: "work" })).content[0].text, "done");
    assert.equal(server.requests.at(-1).headers.get("mcp-session-id"), sessionId);
    await second.close();
    assert.equal(deletes(server), 0);
  });
}

test("onclose comes before close() has returned, also during the handshake, and close() may be called in it", async () => {
  const { transport, core } = await startedTransport();
  const told = [];
  transport.onclose = () => {
    told.push("onclose");
    void transport.close().then(() => told.push("inner"));
  };
  const opening = transport.send({ jsonrpc: "2.0", id: 0, method: "initialize", params: {} });
  const refused = assert.rejects(opening);
  core.on.close = () => undefined;
  const closing = transport.close().then(() => told.push("closed"));
  assert.deepEqual(told, ["onclose"]);
  await turn();
  assert.deepEqual(told, ["onclose"], "the end of the session is under way");
  core.tell([{ out: "closed" }]);
  await Promise.all([closing, refused]);
  await turn();
  assert.deepEqual(told.sort(), ["closed", "inner", "onclose"]);
  assert.equal(core.called("close").length, 1);
});

test("where a request is pending, its rejection comes first", async () => {
  const { transport, core } = await startedTransport();
  const told = [];
  transport.onclose = () => told.push("onclose");
  const work = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "work" } };
  const sent = transport.send(work).catch(({ reason }) => told.push(reason));
  const why = { reason: "closed", outcome: "unknown", retrySafe: false, text: "closed", diagnostics: {} };
  core.on.close = () => ({
    outputs: [
      { out: "settle", call: 1, at: 2, type: "tool_call_failed", method: "tools/call", ...why },
      { out: "closed" },
    ],
  });
  await Promise.all([sent, transport.close()]);
  assert.deepEqual(told, ["closed", "onclose"]);
});

test("after onclose no message and no error reaches the Client, while the session is still being ended", async () => {
  const { transport, core, messages, errors } = await startedTransport();
  core.on.close = () => undefined;
  const closing = transport.close();
  core.message(undefined, "notifications/late", {});
  core.tell([{ out: "event", at: 1, type: "warning", code: "listen_given_up", message: "late" }]);
  await turn();
  assert.deepEqual([messages, errors], [[], []]);
  core.tell([{ out: "closed" }]);
  await closing;
});

test("a transport that closes after a trap starts no other instance to leave the session alone", async () => {
  const { transport, cores } = fakeTransport();
  await transport.start();
  const [core] = cores;
  core.ready({}, { sessionId: "s-1" });
  await turn();
  core.on.poll = () => {
    throw new Error("trap");
  };
  core.tell([]);
  await turn();
  assert.equal(transport.sessionId, "s-1");
  await transport.close();
  assert.equal(cores.length, 1);
});
