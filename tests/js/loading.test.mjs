// How the module is loaded, and what a load that fails does.
import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { ConfigError } from "../../target/modules/api/errors.js";
import { compile, decodeBase64, gunzip } from "../../target/modules/core/compile.js";
import { Instances } from "../../target/modules/core/instance.js";
import { connector } from "../../target/modules/session/stand-alone.js";
import { emptyModule, FakeCore, noFetch, turn } from "./support/fake-core.mjs";

const address = "https://server.test/mcp";
const bytes = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0);

/** A `connect` whose module comes from `load`, and whose cores answer the handshake. */
function connectBy(load) {
  const cores = [];
  const instances = new Instances(load, () => {
    const core = new FakeCore();
    core.on.connect = () => core.ready();
    cores.push(core);
    return core.exports;
  });
  const connect = connector(instances);
  return { connect: () => connect(address, { fetch: noFetch, timeouts: { handshakeMs: 50 } }), cores };
}

test("the inlined bytes are inflated by zlib where it is at hand, else by a stream", async (t) => {
  const base64 = gzipSync(bytes).toString("base64");
  assert.deepEqual(new Uint8Array(await gunzip(decodeBase64(base64))), bytes);
  const { getBuiltinModule } = process;
  t.after(() => {
    process.getBuiltinModule = getBuiltinModule;
  });
  for (const without of [
    undefined,
    () => undefined,
    () => {
      throw new Error("not here");
    },
  ]) {
    process.getBuiltinModule = without;
    const inflated = await gunzip(decodeBase64(base64));
    assert.ok(inflated instanceof ArrayBuffer);
    assert.deepEqual(new Uint8Array(inflated), bytes);
  }
});

test("base64 is decoded by what the runtime has for it, else by hand", (t) => {
  const text = Buffer.from(bytes).toString("base64");
  const { getBuiltinModule } = process;
  const { fromBase64 } = Uint8Array;
  t.after(() => {
    process.getBuiltinModule = getBuiltinModule;
    if (fromBase64 === undefined) delete Uint8Array.fromBase64;
    else Uint8Array.fromBase64 = fromBase64;
  });
  const decoded = () => new Uint8Array(decodeBase64(text));
  delete Uint8Array.fromBase64;
  assert.deepEqual(decoded(), bytes);
  process.getBuiltinModule = undefined;
  assert.deepEqual(decoded(), bytes);
  Uint8Array.fromBase64 = (given) => [given === text && 7];
  assert.deepEqual(decoded(), Uint8Array.of(7));
});

test("a module is compiled from whatever brings it", async () => {
  const wasm = { headers: { "content-type": "application/wasm" } };
  const sources = [
    emptyModule,
    bytes,
    bytes.buffer,
    new Response(bytes, wasm),
    new Response(bytes, { headers: { "content-type": "text/plain" } }),
    new URL(`data:application/wasm;base64,${Buffer.from(bytes).toString("base64")}`),
  ];
  for (const source of sources) assert.ok((await compile(source)) instanceof WebAssembly.Module);
  await assert.rejects(compile(new Response("gone", { status: 404 })), /404/);
  await assert.rejects(compile(new Response("no module", wasm)), WebAssembly.CompileError);
});

test("the module is loaded at the first connect, once for all", async () => {
  let loads = 0;
  const { connect, cores } = connectBy(async () => {
    loads += 1;
    await turn();
    return emptyModule;
  });
  assert.equal(loads, 0);
  await Promise.all([connect(), connect()]);
  await connect();
  assert.equal(loads, 1);
  assert.equal(cores.length, 3);
});

test("a load that fails rejects connect, unsent, and is tried again by the next one", async () => {
  let loads = 0;
  const { connect } = connectBy(async () => {
    loads += 1;
    if (loads === 1) throw new Error("connection lost");
    return emptyModule;
  });
  const thrown = await connect().catch((caught) => caught);
  assert.deepEqual(
    [thrown.name, thrown.method, thrown.reason, thrown.outcome, thrown.retrySafe],
    ["ToolCallFailedError", "initialize", "internal_error", "not_sent", true],
  );
  assert.match(thrown.message, /connection lost/);
  await connect();
  assert.equal(loads, 2);
});

test("a module that never comes is a connect_timeout", async () => {
  const { connect } = connectBy(() => new Promise(() => {}));
  await assert.rejects(connect(), {
    name: "ToolCallFailedError",
    reason: "connect_timeout",
    outcome: "not_sent",
  });
});

test("a loader that is not set up says so by a ConfigError", async () => {
  const { connect } = connectBy(() => {
    throw new ConfigError("module", "no module yet");
  });
  await assert.rejects(connect(), { name: "ConfigError", option: "module" });
});

test("connect never throws on the caller's stack, and left alone it is no unhandled rejection", async (t) => {
  const unhandled = t.mock.fn();
  process.on("unhandledRejection", unhandled);
  t.after(() => process.off("unhandledRejection", unhandled));
  const { connect } = connectBy(() => {
    throw new Error("no");
  });
  void connect();
  await turn();
  assert.equal(unhandled.mock.callCount(), 0);
});
