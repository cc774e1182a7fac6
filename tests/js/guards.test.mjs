// Small promises of the wrapper that nothing else would miss: each test was written after a deliberate break of what it
// states had passed all others.
import assert from "node:assert/strict";
import { test } from "node:test";
import { BodyPump } from "../../target/modules/http/body.js";
import { readState } from "../../target/modules/options/state.js";
import { exchangesOf } from "./support/exchanges.mjs";
import { startedTransport, turn } from "./support/fake-core.mjs";

const address = "https://server.test/mcp";

test("a fine response clears what an earlier refusal of the same call left", async () => {
  const responses = [new Response("no", { status: 401 }), new Response("fine")];
  const { open, ask } = exchangesOf({ fetch: async () => responses.shift() });
  await ask(1, { call: 7 });
  assert.equal(open.failureOf(7).refusal?.status, 401);
  await ask(2, { call: 7 });
  assert.deepEqual(open.failureOf(7), {});
  open.abortAll();
});

test("a body that ends while it is paused is told as ended when reading goes on, and not before", async () => {
  const said = [];
  let controller;
  const body = new ReadableStream({
    start(given) {
      controller = given;
    },
  });
  const sink = { push: () => said.push("bytes"), end: () => said.push("end"), fail: () => said.push("fail") };
  const pump = new BodyPump({ body }, sink);
  pump.resume();
  controller.enqueue(Uint8Array.of(1));
  await turn();
  // The next read is under way already: it ends after the pause.
  pump.pause();
  controller.close();
  await turn();
  assert.deepEqual(said, ["bytes"]);
  pump.resume();
  await turn();
  assert.deepEqual(said, ["bytes", "end"]);
});

test("close() comes to its end though the core never says that it is closed", {
  timeout: 10_000,
}, async () => {
  const { transport, core } = await startedTransport();
  core.on.close = () => undefined;
  let isOver = false;
  transport.onclose = () => {
    isOver = true;
  };
  await transport.close();
  assert.ok(isOver);
  assert.equal(core.called("close").length, 1);
  assert.equal(core.called("destroy").length, 1);
});

test("a provider that is still at work when the transport ends sends nothing more and is not listened to", async () => {
  let sent = 0;
  let renewal;
  let goOn;
  const authProvider = {
    token: () => "t-1",
    onUnauthorized: ({ fetchFn }) => {
      renewal = new Promise((resolve) => {
        goOn = resolve;
      }).then(() => fetchFn("https://auth.test/token"));
      return renewal;
    },
  };
  const fetch = async () => {
    sent += 1;
    return new Response("", { status: 401 });
  };
  const { transport, core } = await startedTransport({ fetch, authProvider });
  transport
    .send({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "work" } })
    .catch(() => undefined);
  await turn();
  await core.open(1, { call: 1 });
  core.tell([{ out: "authorize", call: 1, why: "unauthorized" }]);
  await turn();
  assert.ok(renewal, "the provider is asked");
  await transport.close();
  goOn();
  await assert.rejects(renewal, { name: "AbortError" });
  await turn();
  assert.equal(sent, 1, "the request that was refused, and no other");
  assert.deepEqual(core.called("authorized"), []);
});

test("a progress token of 0 is a token", async () => {
  const { transport, core, messages } = await startedTransport();
  const params = { name: "work", _meta: { progressToken: 0 } };
  transport.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params }).catch(() => undefined);
  await turn();
  const [[, , spec]] = core.called("call");
  assert.ok(!spec.progress, "the Client asked for progress itself");
  const progressToken = JSON.parse(spec.token);
  assert.notEqual(progressToken, 0, "it goes out under a name of ours");
  core.message(1, "notifications/progress", { progressToken, progress: 1 }, "progress");
  await turn();
  assert.deepEqual(messages, [
    { jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: 0, progress: 1 } },
  ]);
  await transport.close();
});

test("a state whose session id no header can carry is refused", () => {
  const state = (sessionId) => ({ version: 1, endpoint: address, protocolVersion: "2025-11-25", sessionId });
  assert.equal(readState(state("a-b"), address).sessionId, "a-b");
  for (const sessionId of ["a b", "", "a\nb", "é", "s".repeat(1_025)])
    assert.throws(() => readState(state(sessionId), address), /sessionId that can't be used/);
});
