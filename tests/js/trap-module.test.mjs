// Real traps: the memory of an instance is overwritten under it.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { createCore } from "../../target/modules/core/core.js";
import { decoded } from "../../target/modules/core/decoder.js";
import { Instances } from "../../target/modules/core/instance.js";
import { noSdk } from "../../target/modules/sdk/binding.js";
import { ClientTransport } from "../../target/modules/sdk/transport.js";
import { connector } from "../../target/modules/session/stand-alone.js";
import { turn } from "./support/fake-core.mjs";
import { eventStream, stubServer } from "./support/stub-server.mjs";

const address = "https://server.test/mcp";
const module = new WebAssembly.Module(
  readFileSync(new URL("../../target/modules/entry/landfall.wasm", import.meta.url)),
);

async function until(holds) {
  while (!holds()) await turn();
}

/** Instances of the real module, collected in `cores`. */
function realInstances() {
  const cores = [];
  const instances = new Instances(
    () => module,
    (each) => {
      cores.push(createCore(each));
      return decoded(cores.at(-1));
    },
  );
  return { instances, cores };
}

/** A session over real instances; `ruin()` overwrites the memory of the newest. `streams` are those of calls. */
async function opened(t, options = {}) {
  const bad = t.mock.fn();
  process.on("unhandledRejection", bad);
  process.on("uncaughtException", bad);
  t.after(() => process.off("unhandledRejection", bad).off("uncaughtException", bad));
  const { instances, cores } = realInstances();
  const connect = connector(instances);
  const streams = [];
  const server = stubServer(({ body }) => {
    if (body?.method !== "tools/call" || body.params.name !== "stream") return undefined;
    streams.push(eventStream());
    return streams.at(-1).response;
  });
  const session = await connect(address, { era: "resumable", fetch: server.fetch, ...options });
  const ruin = () => new Uint8Array(cores.at(-1).memory.buffer).fill(0xff);
  return { session, server, cores, streams, bad, ruin };
}

test("a trap ends the calls as internal_error and aborts their exchanges; the next call makes landfall in the same session", async (t) => {
  const { session, server, cores, streams, bad, ruin } = await opened(t);
  const calls = [1, 2].map(() => session.callTool("stream"));
  await until(() => streams.length === 2);
  await turn();
  ruin();
  streams[0].event({ id: calls[0].id, result: {} });
  for (const call of calls)
    await assert.rejects(call.result, { reason: "internal_error", outcome: "unknown" });
  const posted = server.requests.filter(({ body }) => body?.method === "tools/call");
  assert.ok(posted.every(({ signal }) => signal.aborted));

  const next = session.callTool("plain");
  assert.equal((await next.result).content[0].text, "done");
  assert.equal(cores.length, 2);
  assert.ok(!calls.some(({ id }) => id === next.id));
  const { headers } = server.requests.at(-1);
  assert.equal(headers.get("mcp-session-id"), "stub-1");
  assert.equal(headers.get("mcp-protocol-version"), session.protocolVersion);
  assert.equal(server.posted().filter((method) => method === "initialize").length, 1);
  assert.equal(session.sessionId, "stub-1");
  assert.deepEqual(session.serverInfo, { name: "stub", version: "1" });
  assert.deepEqual(session.capabilities, { tools: {} });
  const { calls: made, answered, failed } = session.metrics();
  assert.deepEqual([made, answered, failed], [3, 1, { internal_error: 2 }]);
  await session.close();
  assert.equal(server.requests.at(-1).method, "DELETE");
  await turn();
  assert.equal(bad.mock.callCount(), 0);
});

test("a Client goes on in the same session after a trap, and its standing stream is opened again", async () => {
  const { instances, cores } = realInstances();
  const standing = [];
  const server = stubServer(({ method }) => {
    if (method !== "GET") return undefined;
    standing.push(eventStream());
    return standing.at(-1).response;
  });
  const transport = new ClientTransport({ instances, sdk: noSdk }, address, {
    fetch: server.fetch,
    terminateSessionOnClose: true,
  });
  const messages = [];
  transport.onmessage = (message) => messages.push(message);
  await transport.start();
  const clientInfo = { name: "c", version: "1" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  await transport.send({ jsonrpc: "2.0", id: 0, method: "initialize", params });
  await transport.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  await until(() => standing.length === 1);
  new Uint8Array(cores[0].memory.buffer).fill(0xff);
  const call = (id) =>
    transport.send({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "plain" } });
  await assert.rejects(call(1), { reason: "internal_error" });
  await call(2);
  assert.equal(messages.at(-1).id, 2);
  const { headers } = server.requests.findLast(({ body }) => body?.method === "tools/call");
  assert.equal(headers.get("mcp-session-id"), "stub-1");
  await until(() => standing.length === 2);
  standing[1].event({ method: "notifications/tools/list_changed" });
  await until(() => messages.at(-1).method === "notifications/tools/list_changed");
  assert.equal(server.posted().filter((method) => method === "initialize").length, 1);
  await transport.close();
  assert.equal(server.requests.at(-1).method, "DELETE");
});

test("a trap in whatever the caller does himself is his call's failure, or changes nothing for him", async (t) => {
  const ways = {
    callTool: async (session) => {
      await assert.rejects(session.callTool("plain").result, { reason: "internal_error" });
    },
    notify: async (session) => {
      await assert.rejects(session.notify("notifications/x"), { reason: "internal_error" });
    },
    cancel: async (_session, pending) => {
      pending.cancel();
      await assert.rejects(pending.result, { reason: "internal_error" });
    },
    metrics: async (session) => {
      assert.equal(typeof session.metrics().calls, "number");
    },
  };
  for (const [name, way] of Object.entries(ways)) {
    const { session, bad, ruin, streams } = await opened(t);
    const pending = session.callTool("stream");
    await until(() => streams.length === 1);
    ruin();
    await way(session, pending);
    await assert.rejects(pending.result, { name: "ToolCallFailedError" }, name);
    assert.equal((await session.callTool("plain").result).content[0].text, "done", name);
    await session.close();
    assert.equal(bad.mock.callCount(), 0, name);
  }
});

test("close ends the server's session from a fresh instance, after a trap and over one", async (t) => {
  for (const isBefore of [true, false]) {
    const { session, server, cores, ruin, streams, bad } = await opened(t);
    const pending = session.callTool("stream");
    await until(() => streams.length === 1);
    ruin();
    if (isBefore) {
      pending.cancel();
      await assert.rejects(pending.result, { reason: "internal_error" });
    }
    await session.close();
    await assert.rejects(pending.result, { name: "ToolCallFailedError" });
    const last = server.requests.at(-1);
    assert.deepEqual([last.method, last.headers.get("mcp-session-id")], ["DELETE", "stub-1"]);
    assert.equal(cores.length, 2);
    assert.equal(server.posted().filter((method) => method === "initialize").length, 1);
    assert.equal(bad.mock.callCount(), 0);
  }
});

test("trap after trap, each next call makes landfall in the same session", async (t) => {
  const { session, server, cores, ruin, bad } = await opened(t);
  for (let n = 0; n < 5; n += 1) {
    ruin();
    await assert.rejects(session.callTool("plain").result, { reason: "internal_error" });
    assert.equal((await session.callTool("plain").result).content[0].text, "done");
  }
  assert.equal(cores.length, 6);
  assert.equal(server.posted().filter((method) => method === "initialize").length, 1);
  await session.close();
  assert.equal(bad.mock.callCount(), 0);
});

test("the timers of a lost instance keep no process alive", () => {
  const script = `
    import { readFileSync } from "node:fs";
    import { connector } from "${new URL("../../target/modules/session/stand-alone.js", import.meta.url)}";
    import { createCore } from "${new URL("../../target/modules/core/core.js", import.meta.url)}";
    import { decoded } from "${new URL("../../target/modules/core/decoder.js", import.meta.url)}";
    import { Instances } from "${new URL("../../target/modules/core/instance.js", import.meta.url)}";
    import { eventStream, stubServer } from "${new URL("support/stub-server.mjs", import.meta.url)}";
    const module = new WebAssembly.Module(
      readFileSync(new URL("${new URL("../../target/modules/entry/landfall.wasm", import.meta.url)}")));
    let core;
    const connect = connector(new Instances(() => module, (each) => decoded((core = createCore(each)))));
    const stream = eventStream();
    const server = stubServer(({ body }) => (body?.method === "tools/call" ? stream.response : undefined));
    const session = await connect("${address}", { era: "resumable", fetch: server.fetch });
    const call = session.callTool("work");
    await new Promise((resolve) => setTimeout(resolve, 20));
    new Uint8Array(core.memory.buffer).fill(0xff);
    stream.event({ id: call.id, result: {} });
    console.log(await call.result.catch(({ reason }) => reason));`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", script], {
    encoding: "utf8",
    timeout: 15_000,
  });
  assert.deepEqual([status, stdout], [0, "internal_error\n"], stderr);
});
