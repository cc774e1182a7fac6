// What many calls leave behind in a page of Chromium, and how many instances it takes.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { CHROMIUM, workshop } from "../pages/browser.mjs";

const MIB = 1 << 20;

/** Runs in the page. */
const open = async (url) => {
  const { connect } = await import("/npm/entry/index.js");
  globalThis.many = await import("/site/many.mjs");
  globalThis.session = await connect(url, { era: "resumable" });
};

/** Runs in the page. */
const run = async ({ calls, drops }) => {
  const { many, session } = globalThis;
  await many.inTurn(session, calls);
  await many.dropped(session, drops);
  await many.inTurn(session, 1);
};

/** Runs in the page: the instances that many sessions at once have made. */
const openMany = async ({ url, count }) => {
  const { connect } = await import("/npm/entry/index.js");
  const { sideBySide } = await import("/site/many.mjs");
  const before = globalThis.instances.length;
  await sideBySide(connect, url, count);
  return globalThis.instances.length - before;
};

/** What the page has in use after its garbage was collected. */
async function inUse(page, devtools, log) {
  for (let n = 0; n < 3; n += 1) {
    await sleep(100);
    await devtools.send("HeapProfiler.collectGarbage");
  }
  const { usedSize } = await devtools.send("Runtime.getHeapUsage");
  const memories = await page.evaluate(() => {
    const isMemory = (each) => each instanceof WebAssembly.Memory;
    return globalThis.instances.map(({ exports }) => Object.values(exports).find(isMemory).buffer.byteLength);
  });
  return { heap: usedSize, memories, requests: log.filter(({ closedAt }) => !closedAt).length };
}

describe("in a page of Chromium", { skip: CHROMIUM ? undefined : "no chromium" }, () => {
  const shop = workshop();

  test("1 000 calls in turn and 100 opened and dropped leave a page's heap and memory as they were", async (t) => {
    const { page, errors } = await shop.open(t);
    const devtools = await page.context().newCDPSession(page);
    await page.evaluate(open, shop.server.url);
    await page.evaluate(run, { calls: 200, drops: 20 });
    const before = await inUse(page, devtools, shop.server.log);
    await page.evaluate(run, { calls: 1_000, drops: 100 });
    const after = await inUse(page, devtools, shop.server.log);
    assert.equal(after.memories.length, 1, "one session has one instance");
    assert.deepEqual(after.memories, before.memories);
    assert.ok(after.heap - before.heap < MIB / 2, `the heap has grown from ${before.heap} to ${after.heap}`);
    assert.equal(after.requests, 0, "no connection is in use");
    assert.deepEqual(errors, []);
  });

  test("40 sessions at once share 24 instances, and so do the next 40", async (t) => {
    const { page, errors } = await shop.open(t);
    for (let n = 0; n < 2; n += 1) {
      assert.equal(await page.evaluate(openMany, { url: shop.server.url, count: 40 }), 24);
    }
    assert.deepEqual(errors, []);
  });
});
