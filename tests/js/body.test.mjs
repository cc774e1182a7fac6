// The pump of a response body: its order, its pauses, its end.
import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { macrotask } from "../../target/modules/base/promise.js";
import { BodyPump, Breath } from "../../target/modules/http/body.js";
import { turn } from "./support/fake-core.mjs";
import "./support/timers.mjs";
import { timed } from "../support/timed.mjs";

/** A sink, and what it was told. */
function listening() {
  const said = [];
  const sink = {
    push: (bytes) => said.push(new TextDecoder().decode(bytes)),
    end: () => said.push("END"),
    fail: (message, code) => said.push(`FAIL ${message} ${code}`),
  };
  return { said, sink };
}

/** A body that the test feeds, and what a pump says of it. */
function pumped(underlying = {}) {
  let controller;
  let cancelled;
  const body = new ReadableStream({
    start(given) {
      controller = given;
    },
    cancel(reason) {
      cancelled = { reason };
    },
    ...underlying,
  });
  const { said, sink } = listening();
  const pump = new BodyPump({ body }, sink);
  const send = (text) => controller.enqueue(new TextEncoder().encode(text));
  return { pump, body, said, sink, send, controller, wasCancelled: () => cancelled !== undefined };
}

test("nothing is read before it is asked for, then chunks come in order, then the end, once", async () => {
  const { pump, body, said, send, controller } = pumped();
  send("one");
  await turn();
  assert.deepEqual(said, []);
  pump.resume();
  pump.resume();
  send("two");
  await turn();
  controller.close();
  await turn();
  pump.stop();
  assert.deepEqual(said, ["one", "two", "END"]);
  assert.equal(body.locked, false);
});

test("a response without a body is one that has ended", async () => {
  const said = [];
  const sink = { push: assert.fail, end: () => said.push("END"), fail: assert.fail };
  new BodyPump({ body: null }, sink).resume();
  await turn();
  assert.deepEqual(said, ["END"]);
});

test("a pause holds back what was read, and the end too", async () => {
  const { pump, said, send, controller } = pumped();
  pump.resume();
  send("one");
  await turn();
  pump.pause();
  send("two");
  controller.close();
  await turn();
  assert.deepEqual(said, ["one"]);
  pump.resume();
  await turn();
  assert.deepEqual(said, ["one", "two", "END"]);
});

test("a paused body is not read on: the sender feels it", async () => {
  let pulls = 0;
  const { pump, said } = pumped({
    pull(controller) {
      pulls += 1;
      controller.enqueue(new Uint8Array([97]));
    },
  });
  pump.resume();
  pump.pause();
  await turn();
  assert.ok(pulls <= 3, `${pulls} pulls`);
  assert.deepEqual(said, []);
  pump.stop();
});

test("a body that fails is told with the runtime's own code", async () => {
  const { pump, said, controller } = pumped();
  pump.resume();
  controller.error(new TypeError("terminated", { cause: { code: "UND_ERR_SOCKET" } }));
  await turn();
  assert.deepEqual(said, ["FAIL terminated UND_ERR_SOCKET"]);
});

test("after stop() nothing is said, and the body is cancelled and released", async () => {
  const { pump, body, said, send, wasCancelled } = pumped();
  pump.resume();
  send("one");
  await turn();
  pump.stop();
  pump.stop();
  await turn();
  assert.deepEqual(said, ["one"]);
  assert.equal(wasCancelled(), true);
  assert.equal(body.locked, false);
});

test("stop() while paused, before any read, and from inside a push", async () => {
  const paused = pumped();
  paused.pump.resume();
  paused.send("one");
  await turn();
  paused.pump.pause();
  paused.send("two");
  await turn();
  paused.pump.stop();
  await turn();
  assert.deepEqual([paused.said, paused.wasCancelled(), paused.body.locked], [["one"], true, false]);

  const unread = pumped();
  unread.pump.stop();
  unread.pump.resume();
  await turn();
  assert.deepEqual([unread.said, unread.wasCancelled()], [[], true]);

  const inside = pumped();
  inside.sink.push = () => {
    inside.said.push("last");
    inside.pump.stop();
  };
  inside.pump.resume();
  inside.send("one");
  inside.send("two");
  await turn();
  assert.deepEqual([inside.said, inside.wasCancelled(), inside.body.locked], [["last"], true, false]);
});

test("no rejection of a reader goes unobserved, nor does a cancel that never settles hold anything up", async (t) => {
  const unhandled = t.mock.fn();
  process.on("unhandledRejection", unhandled);
  t.after(() => process.off("unhandledRejection", unhandled));
  const errored = pumped();
  errored.pump.resume();
  errored.controller.error(new Error("gone"));
  errored.pump.stop();
  const rejecting = pumped({ cancel: () => Promise.reject(new Error("no cancel")) });
  rejecting.pump.resume();
  rejecting.pump.stop();
  const endless = pumped({ cancel: () => new Promise(() => {}) });
  endless.pump.resume();
  endless.pump.stop();
  await turn();
  assert.deepEqual([errored.said, rejecting.said, endless.said], [[], [], []]);
  assert.equal(unhandled.mock.callCount(), 0);
});

test("a chunk that is no bytes, or a body that is no stream, is a failure of that body", async () => {
  const { pump, said, controller, wasCancelled } = pumped();
  pump.resume();
  controller.enqueue("text");
  await turn();
  assert.match(said[0], /^FAIL .*no bytes/);
  assert.equal(wasCancelled(), true);
  const failures = [];
  const sink = { push: assert.fail, end: assert.fail, fail: (message) => failures.push(message) };
  new BodyPump({ body: { on() {} } }, sink).resume();
  await turn();
  assert.equal(failures.length, 1);
});

test("a stream of Node's is read, held and given up like any other, and its failure is one of the body", async () => {
  const body = new PassThrough();
  const { said, sink } = listening();
  const pump = new BodyPump({ body }, sink);
  body.write("one");
  pump.resume();
  await turn();
  pump.pause();
  body.write("two");
  await turn();
  assert.deepEqual(said, ["one"]);
  pump.resume();
  await turn();
  assert.deepEqual(said, ["one", "two"]);
  pump.stop();
  await turn();
  assert.equal(body.destroyed, true);
  assert.deepEqual(said, ["one", "two"]);
  const unread = new PassThrough();
  new BodyPump({ body: unread }, sink).stop();
  assert.equal(unread.destroyed, true);
  const failing = new PassThrough();
  new BodyPump({ body: failing }, sink).resume();
  failing.destroy(Object.assign(new Error("cut"), { code: "ECONNRESET" }));
  await turn();
  assert.deepEqual(said.slice(2), ["FAIL cut ECONNRESET"]);
});

test("where there is no stream the whole body is read at once", async () => {
  const whole = { bodyUsed: false, text: async () => "whole – text" };
  const bytes = { body: undefined, arrayBuffer: async () => new TextEncoder().encode("bytes").buffer };
  for (const [response, expected] of [
    [whole, ["whole – text", "END"]],
    [bytes, ["bytes", "END"]],
    [{ text: () => Promise.reject(new Error("cut")) }, ["FAIL cut "]],
    [{}, ["END"]],
  ]) {
    const said = [];
    const sink = {
      push: (part) => said.push(new TextDecoder().decode(part)),
      end: () => said.push("END"),
      fail: (message, code) => said.push(`FAIL ${message} ${code}`),
    };
    new BodyPump(response, sink).resume();
    await turn();
    assert.deepEqual(said, expected);
  }
});

test("what a reader says of its end is heard", async (t) => {
  const unhandled = t.mock.fn();
  process.on("unhandledRejection", unhandled);
  t.after(() => process.off("unhandledRejection", unhandled));
  const reader = {
    closed: new Promise((_, reject) => setTimeout(reject, 1, new Error("cut"))),
    read: () => Promise.reject(new Error("cut")),
    cancel: async () => {},
    releaseLock: () => {},
  };
  const failures = [];
  const sink = { push: assert.fail, end: assert.fail, fail: (message) => failures.push(message) };
  new BodyPump({ body: { getReader: () => reader } }, sink).resume();
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual(failures, ["cut"]);
  assert.equal(unhandled.mock.callCount(), 0);
});

test("other kinds of bytes pass, and a large chunk goes in by pieces", async () => {
  const { pump, said, sink, controller } = pumped();
  pump.resume();
  controller.enqueue(new Uint8Array([104, 105]).buffer);
  controller.enqueue(new DataView(new Uint8Array([120, 104, 111]).buffer, 1));
  await turn();
  assert.deepEqual(said, ["hi", "ho"]);
  const sizes = [];
  sink.push = (bytes) => sizes.push(bytes.length);
  controller.enqueue(new Uint8Array(600_000));
  await turn();
  assert.ok(Math.max(...sizes) <= 262_144);
  assert.equal(
    sizes.reduce((sum, size) => sum + size, 0),
    600_000,
  );
});

test("an error whose message or name is no string fails the body with a text all the same", async () => {
  for (const value of [undefined, null, 5, 5n, Symbol("s"), {}, [], () => {}]) {
    const { pump, sink, controller } = pumped();
    const told = [];
    sink.fail = (...given) => told.push(given);
    const error = new Error("text");
    for (const member of ["message", "name", "code", "cause"])
      Object.defineProperty(error, member, { value });
    pump.resume();
    controller.error(error);
    await turn();
    const [[message, code, thrown]] = told;
    assert.deepEqual([typeof message, typeof code, thrown], ["string", "string", error]);
    assert.notEqual(message, "");
  }
});

timed("a body that always has more at hand lets timers run, in order and to its end", async () => {
  let sent = 0;
  const started = performance.now();
  const late = () => performance.now() - started > 2_000;
  const { pump, sink } = pumped({
    pull(controller) {
      if (late()) controller.close();
      else controller.enqueue(new Uint8Array([sent++ % 256]));
    },
  });
  let read = 0;
  let isOrdered = true;
  sink.push = ([byte]) => {
    isOrdered &&= byte === read % 256;
    read += 1;
  };
  pump.resume();
  await new Promise((resolve) => setTimeout(resolve, 50));
  pump.stop();
  assert.equal(late(), false, "a timer of 50 ms fires before the body ends");
  assert.ok(read > 0 && isOrdered);
  const before = read;
  await turn();
  assert.equal(read, before, "nothing is said after stop()");
});

timed("empty chunks without end let timers run, too", async () => {
  const started = performance.now();
  const late = () => performance.now() - started > 2_000;
  const { pump } = pumped({
    pull: (controller) => (late() ? controller.close() : controller.enqueue(new Uint8Array())),
  });
  pump.resume();
  await new Promise((resolve) => setTimeout(resolve, 20));
  pump.stop();
  assert.equal(late(), false);
});

timed("a body that always has more at hand lets timers run where the clock stands still", async (t) => {
  const started = Date.now();
  const late = () => Date.now() - started > 2_000;
  t.mock.method(performance, "now", () => 5);
  const { pump } = pumped({
    pull: (controller) => (late() ? controller.close() : controller.enqueue(new Uint8Array(1))),
  });
  pump.resume();
  await new Promise((resolve) => setTimeout(resolve, 20));
  pump.stop();
  assert.equal(late(), false);
});

test("bodies that share a breath wait for one turn, and after it, or where one begins, for none", async () => {
  const breath = new Breath();
  const turns = [breath.due(), breath.due()];
  assert.ok(turns[0] !== undefined && turns[0] === turns[1], "its clock began long ago");
  await turns[0];
  assert.equal(breath.due(), undefined);
  const other = new Breath();
  other.begin();
  assert.equal(other.due(), undefined);
});

test("a turn is given by whatever the runtime has for it, and leaves nothing behind", async (t) => {
  const { setImmediate, MessageChannel } = globalThis;
  t.after(() => Object.assign(globalThis, { setImmediate, MessageChannel }));
  const open = () => process.getActiveResourcesInfo().filter((each) => each === "MessagePort").length;
  const before = open();
  for (const lacking of [{}, { setImmediate: undefined }, { MessageChannel: undefined }]) {
    Object.assign(globalThis, lacking);
    let isMicrotask = true;
    const given = macrotask().then(() => assert.equal(isMicrotask, false));
    await Promise.resolve().then(() => {});
    isMicrotask = false;
    await given;
  }
  await turn();
  assert.equal(open(), before);
});
