// Timers of landfall's own: those that a test of the user's puts in their place later stop nothing.
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect, LandfallTransport } from "../../target/modules/entry/index.js";
import { eventStream, stubServer } from "./support/stub-server.mjs";

const url = "https://server.test/mcp";
const fakes = ["setTimeout", "clearTimeout", "setInterval", "setImmediate", "queueMicrotask"];
const real = { setTimeout };

/** Node's own fake timers, and what those of others replace besides; none of them ever runs anything. */
function standStill(t) {
  t.mock.timers.enable({ apis: ["setTimeout", "setInterval", "setImmediate", "Date"] });
  for (const name of fakes) t.mock.method(globalThis, name, () => 1);
  t.mock.method(performance, "now", () => 5);
}

/** A server whose bodies end by themselves: that of Node's own Response ends by `queueMicrotask`. */
function server(answer) {
  const { fetch } = stubServer(answer);
  return async (url, init) => {
    const message = init.body === undefined ? undefined : JSON.parse(init.body);
    if (message?.id === undefined || message.params?.name === "silent") return fetch(url, init);
    const result =
      message.method === "initialize"
        ? { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: { name: "s", version: "1" } }
        : { content: [{ type: "text", text: "done" }] };
    const bytes = new TextEncoder().encode(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }));
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(bytes);
        controller.close();
      },
    });
    return new Response(body, { headers: { "content-type": "application/json" } });
  };
}

/** What a promise gives in a second of true time. */
function soon(promise) {
  const late = new Promise((_, reject) => {
    real.setTimeout(() => reject(new Error("nothing came of it")), 1_000).unref();
  });
  return Promise.race([promise, late]);
}

test("fake timers hold up no handshake, no call, no clock and no close()", async (t) => {
  standStill(t);
  const stream = eventStream();
  const fetch = server(({ body }) => (body?.params?.name === "silent" ? stream.response : undefined));
  const session = await soon(connect(url, { fetch, onEvent: () => {} }));
  const { content } = await soon(session.callTool("work").result);
  assert.equal(content[0].text, "done");
  const clocks = { connectMs: 5, idleMs: 20, callMs: 60, recoveryMs: 60 };
  const silent = session.callTool("silent", {}, { timeouts: clocks });
  const failure = await soon(silent.result.catch((error) => error));
  assert.equal(failure.reason, "call_timeout");
  const { startedAt, endedAt } = failure.diagnostics;
  assert.ok(endedAt - startedAt >= 59, `${endedAt - startedAt} ms`);
  await soon(session.close());
});

test("nor a transport's start(), or what it carries", async (t) => {
  standStill(t);
  const fetch = server();
  const transport = new LandfallTransport(url, { fetch });
  const answered = new Promise((resolve) => {
    transport.onmessage = resolve;
  });
  await soon(transport.start());
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } };
  await soon(transport.send({ jsonrpc: "2.0", id: 0, method: "initialize", params }));
  assert.equal((await soon(answered)).id, 0);
  await soon(transport.close());
});

test("the runtime's timers are called without a receiver: a sandbox's global would be none", async (t) => {
  const names = ["setTimeout", "clearTimeout", "queueMicrotask", "setImmediate"];
  const own = Object.fromEntries(names.map((name) => [name, globalThis[name]]));
  t.after(() => Object.assign(globalThis, own));
  const receivers = [];
  for (const name of names)
    globalThis[name] = function take() {
      receivers.push(this);
    };
  const { timers } = await import("../../target/modules/base/timers.js?bare");
  Object.assign(globalThis, own);
  for (const name of names) timers[name](() => {}, 1);
  assert.deepEqual(receivers, Array(4).fill(undefined));
});
