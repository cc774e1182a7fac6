// What the server asks, over the real core: by landfall's own session and by the transport of a Client.
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect, LandfallTransport } from "../../target/modules/entry/index.js";
import { turn } from "./support/fake-core.mjs";
import { eventStream, stubServer } from "./support/stub-server.mjs";

const address = "https://server.test/mcp";

/** Waits until something is so; the test's own time limit ends it otherwise. */
async function until(holds) {
  while (!holds()) await turn();
}

/** A server whose tool calls are streams that the test feeds, and the bodies that were posted as they were. */
function streamingServer() {
  const streams = [];
  const bodies = [];
  const server = stubServer(({ body }) => {
    if (body?.method !== "tools/call") return undefined;
    const stream = eventStream();
    streams.push({ ...stream, id: body.id });
    return stream.response;
  });
  const fetch = (url, init) => {
    if (init.body !== undefined) bodies.push(init.body);
    return server.fetch(url, init);
  };
  const answers = () => bodies.filter((body) => JSON.parse(body).method === undefined);
  return { fetch, streams, answers };
}

/** Both ways to use landfall: `ask(request)` answers what the server asks, `call()` makes a call. */
const users = {
  async connect(server, ask, options) {
    const onRequest = ({ method, params, signal }) => ask({ method, params, signal });
    const session = await connect(address, { fetch: server.fetch, onRequest, listen: false, ...options });
    return { call: () => session.callTool("work").result, close: () => session.close() };
  },
  async LandfallTransport(server, ask, options) {
    const transport = new LandfallTransport(address, { fetch: server.fetch, listen: false, ...options });
    const running = new Map();
    const waiting = new Map();
    transport.onmessage = async (message) => {
      const { id, method, params } = message;
      if (method === "notifications/cancelled") running.get(params.requestId)?.abort();
      else if (method !== undefined && id !== undefined) {
        // As the SDKs do: one request per id.
        assert.ok(!running.has(id), `the id ${id} is free`);
        const controller = new AbortController();
        running.set(id, controller);
        const result = await ask({ method, params, signal: controller.signal });
        running.delete(id);
        if (!controller.signal.aborted) await transport.send({ jsonrpc: "2.0", id, result });
      } else waiting.get(id)?.(message);
    };
    await transport.start();
    let next = 0;
    const request = (method, params) => {
      const id = next++;
      const answered = new Promise((resolve) => waiting.set(id, resolve));
      void transport.send({ jsonrpc: "2.0", id, method, params });
      return answered;
    };
    const clientInfo = { name: "c", version: "1" };
    await request("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
    await transport.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    return { call: () => request("tools/call", { name: "work" }), close: () => transport.close() };
  },
};

for (const [name, begin] of Object.entries(users)) {
  test(`${name}: an id goes back byte for byte`, async () => {
    const server = streamingServer();
    const user = await begin(server, () => ({ roots: [] }));
    const called = user.call();
    await until(() => server.streams.length === 1);
    const [stream] = server.streams;
    const ids = ["9007199254740993", "1.0", "1e2", "-0", "7", "0.5", "1E400", '""'];
    ids.push(String.raw`"a\u0041\"],{:"`);
    for (const id of ids) {
      const before = server.answers().length;
      const other = `{"jsonrpc":"2.0","method":"m","params":{"id":3,"list":[{"id":4},"]}"]}}`;
      const asked = `{ "params": {"id": [1, {"id": 2}]}, "id": 8, "method": "roots/list", "\\u0069d" : ${id} , "jsonrpc":"2.0"}`;
      stream.raw(`data: [${other}, ${asked},${other}]\n\n`);
      await until(() => server.answers().length > before);
      const answer = server.answers().at(-1);
      assert.ok(answer.includes(`"id":${id},`), `${id}: ${answer}`);
      assert.deepEqual(JSON.parse(answer).result, { roots: [] });
    }
    stream.event({ id: stream.id, result: {} });
    await called;
    await user.close();
  });

  test(`${name}: with one id open on two streams each gets its own answer, and its own cancel`, async () => {
    const server = streamingServer();
    const asked = new Map();
    const user = await begin(
      server,
      ({ params, signal }) =>
        new Promise((answer) => asked.set(params.of, { signal, answer: () => answer({ of: params.of }) })),
    );
    const calls = [user.call(), user.call(), user.call()];
    await until(() => server.streams.length === 3);
    for (const [of, stream] of server.streams.entries())
      stream.event({ id: 0, method: "roots/list", params: { of } });
    await until(() => asked.size === 3);
    const [, second] = server.streams;
    second.event({ method: "notifications/cancelled", params: { requestId: 0 } });
    await until(() => asked.get(1).signal.aborted);
    assert.deepEqual(
      [0, 2].map((of) => asked.get(of).signal.aborted),
      [false, false],
    );
    for (const of of [2, 1, 0]) asked.get(of).answer();
    await until(() => server.answers().length === 2);
    assert.deepEqual(server.answers().map(JSON.parse), [
      { jsonrpc: "2.0", id: 0, result: { of: 2 } },
      { jsonrpc: "2.0", id: 0, result: { of: 0 } },
    ]);
    for (const stream of server.streams) stream.event({ id: stream.id, result: {} });
    await Promise.all(calls);
    await user.close();
  });

  test(`${name}: one event of 256 requests takes linear time`, async () => {
    const server = streamingServer();
    let asked = 0;
    const user = await begin(
      server,
      () => {
        asked += 1;
        return {};
      },
      { limits: { maxQuestions: 256 } },
    );
    const called = user.call();
    await until(() => server.streams.length === 1);
    const [stream] = server.streams;
    const pad = Array(2_000).fill(0);
    const requests = Array.from({ length: 256 }, (_, id) => ({
      ...{ jsonrpc: "2.0", id, method: "roots/list", params: { pad } },
    }));
    const before = process.cpuUsage();
    stream.raw(`data: ${JSON.stringify([{ jsonrpc: "2.0", method: "m" }, ...requests])}\n\n`);
    await until(() => asked === 256);
    const { user: micros, system } = process.cpuUsage(before);
    // It was 6 s, for each id was looked up in all of it.
    assert.ok(micros + system < 2_000_000, `${(micros + system) / 1e6} s of CPU`);
    stream.event({ id: stream.id, result: {} });
    await called;
    await user.close();
  });
}

test("send() of a Client's answer is done when the server took it, and rejects where it did not: nothing is lost by a close()", async (t) => {
  const taken = [];
  let take;
  const server = stubServer(async ({ body }) => {
    if (body === undefined || body.method !== undefined) return undefined;
    if (body.id === "refused") return new Response("no", { status: 500 });
    await new Promise((resolve) => {
      take = resolve;
    });
    taken.push(body.id);
    return new Response(null, { status: 202 });
  });
  const transport = new LandfallTransport(address, { fetch: server.fetch, listen: false });
  t.after(() => transport.close());
  const errors = [];
  transport.onerror = (error) => errors.push(error);
  await transport.start();
  const clientInfo = { name: "c", version: "1" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  await transport.send({ jsonrpc: "2.0", id: 0, method: "initialize", params });
  const answer = (id) => transport.send({ jsonrpc: "2.0", id, result: {} });
  await assert.rejects(answer("refused"), { name: "ToolCallFailedError", reason: "http_error" });
  assert.equal(errors.length, 1);
  let isDone = false;
  const sent = answer("taken").then(() => {
    isDone = true;
  });
  while (take === undefined) await turn();
  assert.equal(isDone, false);
  take();
  await sent;
  await transport.close();
  assert.deepEqual(taken, ["taken"]);
});
