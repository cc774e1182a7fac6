// What many calls leave behind in Node: nothing.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { inInstances } from "../support/instances.mjs";
import { dropped, inTurn, sideBySide, troubled, troubles } from "./many.mjs";

const MIB = 1 << 20;

const { connect } = await import("../../target/npm/entry/index.js");

// In a process of its own: what the server remembers is no part of this heap.
let server;
let url;
before(async () => {
  server = spawn(process.execPath, ["tests/server/main.mjs"], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await Promise.race([
    new Promise((resolve) =>
      createInterface({ input: server.stdout }).once("line", (text) => resolve([text])),
    ),
    new Promise((resolve) => server.once("exit", () => resolve([]))),
  ]);
  assert.ok(line, "the fault server starts");
  url = JSON.parse(line).url;
});
after(() => server?.kill());

function active(kind) {
  return process.getActiveResourcesInfo().filter((name) => name === kind).length;
}

/** What is in use after the garbage was collected. */
async function inUse() {
  // What was closed is told in later turns of the loop, and what a finalizer let go falls to the next collection.
  for (let n = 0; n < 5; n += 1) {
    await sleep(50);
    globalThis.gc();
  }
  return {
    heap: process.memoryUsage().heapUsed,
    ...inInstances(),
    sockets: active("TCPSocketWrap"),
    timers: active("Timeout"),
  };
}

function assertSteady(before, after) {
  const { heap: heapBefore, ...rest } = before;
  const { heap: heapAfter, ...restAfter } = after;
  assert.deepEqual(restAfter, rest);
  assertFlat(heapBefore, heapAfter);
}

function assertFlat(before, after) {
  assert.ok(after - before < MIB, `the heap has grown from ${before} to ${after}`);
}

test("10 000 calls in turn and 1 000 opened and dropped leave heap, memory, sockets and timers as they were", async () => {
  const session = await connect(url, { era: "resumable" });
  // A session remembers its last 4 096 events: until then its memory grows.
  await inTurn(session, 1_500);
  await dropped(session, 4_300);
  await inTurn(session, 1);
  const before = await inUse();
  await inTurn(session, 10_000);
  await dropped(session, 1_000);
  await inTurn(session, 1);
  assertSteady(before, await inUse());
  await session.close();
});

for (const [name, trouble] of Object.entries(troubles)) {
  const count = name === "cut" ? 1_000 : 200;
  test(`${count} calls that are ${name} leave the heap as it was`, async () => {
    const session = await connect(url, { era: "resumable", retry: { baseMs: 1, maxMs: 1 } });
    await troubled(session, trouble, count / 2);
    const { heap } = await inUse();
    await troubled(session, trouble, count);
    assertFlat(heap, (await inUse()).heap);
    await session.close();
  });
}

test("sessions that were closed leave no instance behind", async () => {
  for (let n = 0; n < 3; n += 1) await sideBySide(connect, url, 20);
  const before = await inUse();
  for (let n = 0; n < 10; n += 1) await sideBySide(connect, url, 20);
  assertSteady(before, await inUse());
});
