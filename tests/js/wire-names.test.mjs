// The ids and progress tokens of a Client's messages, and what stands in their place on the wire.
import assert from "node:assert/strict";
import { test } from "node:test";
import { LandfallTransport } from "../../target/modules/entry/index.js";
import { startedTransport, turn } from "./support/fake-core.mjs";
import { eventStream, stubServer } from "./support/stub-server.mjs";

const url = "https://server.test/mcp";
const call = (id, params = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name: "work", ...params },
});
const timed = { resumptionToken: undefined };
const specs = (core) => core.called("call").map(([, , spec]) => spec);
const nothing = () => {};

/** A transport of the real module whose server answers by `answer`, with its session begun. */
async function begun(answer) {
  const server = stubServer(answer);
  const transport = new LandfallTransport(url, {
    fetch: server.fetch,
    reconnectionOptions: { initialReconnectionDelay: 1 },
  });
  const messages = [];
  transport.onmessage = (message) => messages.push(message);
  await transport.start();
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } };
  await transport.send({ jsonrpc: "2.0", id: 0, method: "initialize", params });
  return { transport, messages, server };
}

test("two Clients that count alike get their own answers where a server stores streams by the request's id", async () => {
  const streams = new Map();
  const ask = ({ method, body, headers }) => {
    if (method === "GET") {
      const asked = streams.get(headers.get("last-event-id")?.split("_")[0]);
      if (asked === undefined) return new Response(null, { status: 405 });
      const stream = eventStream();
      stream.event({ id: asked.id, result: { content: [], for: asked.params.arguments.who } });
      stream.close();
      return stream.response;
    }
    if (body?.method !== "tools/call") return undefined;
    streams.set(String(body.id), body);
    const stream = eventStream();
    stream.raw(`id: ${body.id}_1\nretry: 1\ndata:\n\n`);
    // Both are stored before either is cut.
    const cut = () => (streams.size === 2 ? stream.close() : setTimeout(cut, 1));
    cut();
    return stream.response;
  };
  const clients = [await begun(ask), await begun(ask)];
  await Promise.all(
    clients.map(({ transport }, who) => transport.send(call(1, { arguments: { who } }), timed)),
  );
  for (const [who, { transport, messages }] of clients.entries()) {
    assert.deepEqual(messages.at(-1), { jsonrpc: "2.0", id: 1, result: { content: [], for: who } });
    await transport.close();
  }
});

test("an id and a token go out as one of the same type that no other transport has, and none goes out twice", async () => {
  const seen = [];
  for (let i = 0; i < 3; i += 1) {
    const { transport, core } = await startedTransport();
    for (const id of [0, 1, "a", "a"]) {
      void transport.send(call(id, { _meta: { progressToken: id } }), timed).catch(nothing);
      const { id: wire, token, params } = specs(core).at(-1);
      const names = [JSON.parse(wire), JSON.parse(token)];
      assert.equal(JSON.parse(params)._meta.progressToken, names[1]);
      for (const name of names) {
        assert.equal(typeof name, typeof id);
        if (typeof name === "number") assert.ok(Number.isSafeInteger(name));
      }
      seen.push(...names);
    }
    await transport.close();
  }
  assert.equal(new Set(seen).size, 24);
});

test("a Client cancels by its own id, and the server is told the one it knows", async () => {
  let stream;
  const { transport, server } = await begun(({ body }) => {
    if (body?.method !== "tools/call") return undefined;
    stream = eventStream();
    return stream.response;
  });
  const sent = transport.send(call(7), timed);
  sent.catch(nothing);
  while (stream === undefined) await turn();
  await transport.send(
    { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 7 } },
    timed,
  );
  await assert.rejects(sent, { reason: "cancelled" });
  while (!server.posted().includes("notifications/cancelled")) await turn();
  const of = (name) => server.requests.find(({ body }) => body?.method === name).body;
  assert.equal(of("notifications/cancelled").params.requestId, of("tools/call").id);
  await transport.close();
});

test("progress bears the Client's token, during its call, after the answer, and on the stream of no call", async () => {
  const { transport, core, messages } = await startedTransport();
  const sent = transport.send(call(1, { _meta: { progressToken: "t" } }), timed);
  const progressToken = JSON.parse(specs(core)[0].token);
  core.message(1, "notifications/progress", { progressToken, progress: 1 }, "progress");
  core.answer(1, { jsonrpc: "2.0", id: 9, result: {} });
  await sent;
  core.message(undefined, "notifications/progress", { progressToken, progress: 2 });
  core.message(undefined, "notifications/progress", { progressToken: "unknown", progress: 3 });
  await turn();
  assert.deepEqual(
    messages.filter(({ method }) => method !== undefined).map(({ params }) => params),
    [
      { progressToken: "t", progress: 1 },
      { progressToken: "t", progress: 2 },
      { progressToken: "unknown", progress: 3 },
    ],
  );
  await transport.close();
});

test("the keys of a Client's message keep their order", async () => {
  const { transport, core } = await startedTransport();
  const params = { z: 1, _meta: { y: 1, progressToken: 5, b: { d: 1, c: 2 } }, a: 2 };
  void transport.send({ jsonrpc: "2.0", id: 5, method: "x", params }, timed).catch(nothing);
  const [spec] = specs(core);
  assert.equal(
    spec.params,
    JSON.stringify(params).replace('"progressToken":5', `"progressToken":${spec.token}`),
  );
  await transport.send({ result: { b: 1, a: 2 }, jsonrpc: "2.0", id: 3 });
  assert.equal(core.called("answer").at(-1)[2], '{"result":{"b":1,"a":2},"jsonrpc":"2.0","id":3}');
  await transport.close();
});
