// One session, over a store that outlives it, as where an object is put away and made again.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Session } from "../../www/relay/relay/session.mjs";
import { readSettings } from "../../www/relay/relay/settings.mjs";
import { MemoryStore } from "../../www/relay/store/memory.mjs";
import { blocks, call } from "./stage.mjs";

/** A package whose server answers each request at once, or `holds` them, and says which were made and cancelled. */
function answering({ holds = false } = {}) {
  const made = [];
  const cancelled = [];
  const connect = async (_url, { onEvent }) => ({
    era: "legacy",
    exportState: () => ({ version: 1 }),
    request(method, _params, { onresumptiontoken, resumptionToken }) {
      const id = `r${made.push([method, resumptionToken])}`;
      queueMicrotask(() => onEvent({ type: "sent", requestId: id, wireId: `wire of ${id}` }));
      if (holds) queueMicrotask(() => onresumptiontoken("cursor"));
      else queueMicrotask(() => onEvent({ type: "result", requestId: id, result: { of: id } }));
      return { id, cancel: () => cancelled.push(id) };
    },
    notify: async (method, { requestId }) => {
      if (method === "notifications/cancelled") cancelled.push(requestId);
    },
    metrics: () => ({ exhausted: 0 }),
    async close() {},
  });
  return { connect, made, cancelled };
}

/** A session whose object may be put away: `{ session, clock, store, again() }`. */
function stage(server) {
  const at = { store: new MemoryStore(), landfall: answering(server) };
  const clock = { time: 1_000_000, now: () => clock.time, after: () => () => {} };
  at.alarm = {
    set: (due) => {
      at.due = due;
    },
    clear: () => {},
  };
  const register = { open() {}, allow: () => ({ left: 1e9 }), report() {}, close() {}, mismatched() {} };
  const settings = readSettings({ UPSTREAM: "http://127.0.0.1:1/", PUBLIC: "1", TOOLS: "*" });
  at.again = () => {
    at.session = new Session({ ...at, clock, settings, register });
  };
  /** Time passes, and the object is woken when it asked for that, each time anew where `evicted`. */
  at.pass = async (ms, { evicted = false } = {}) => {
    const end = clock.time + ms;
    while (at.due <= end) {
      clock.time = Math.max(clock.time, at.due);
      at.due = Number.POSITIVE_INFINITY;
      if (evicted) at.again();
      await at.session.wake();
      await new Promise((resolve) => setImmediate(resolve));
    }
    clock.time = end;
  };
  at.post = (message) => at.session.handle({ kind: "post", caller: "c", text: JSON.stringify(message) });
  at.begin = () => {
    at.again();
    const params = {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "c", version: "1" },
    };
    const text = JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params });
    return at.session.handle({ kind: "begin", id: "s", caller: "c", text });
  };
  return at;
}

const keyed = (id, key) => call(id, "count", {}, { "landfall/call-key": key });

for (const evicted of [false, true])
  test(`an idle session ends, and leaves nothing, ${evicted ? "also where its object is made anew each time" : "in one life"}`, async () => {
    const at = stage();
    await at.begin();
    await blocks(await at.post(keyed(1, "k")));
    await blocks(
      await at.session.handle({ kind: "post", caller: "c", text: JSON.stringify(call(2, "count")) }),
    );
    await at.pass(20 * 60_000, { evicted });
    assert.equal(at.session.isThere, true);
    await at.pass(13 * 60_000, { evicted });
    assert.equal(at.session.isThere, false);
    assert.equal(at.store.size, 0);
  });

test("a call that nobody comes back for is cancelled after the grace period, however often its object is made anew", async () => {
  const at = stage({ holds: true });
  await at.begin();
  await at.post(call(1, "hold"));
  await new Promise((resolve) => setTimeout(resolve, 5));
  at.again();
  at.due = 0;
  await at.pass(30_000, { evicted: true });
  assert.deepEqual(at.landfall.made.at(-1), ["tools/call", "cursor"], "it goes on");
  assert.deepEqual(at.landfall.cancelled, []);
  await at.pass(91_000, { evicted: true });
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(at.landfall.cancelled[0], "wire of r1");
  const lives = at.landfall.made.length;
  await at.pass(120_000, { evicted: true });
  assert.equal(at.landfall.made.length, lives, "it is taken up no more");
});

test("a key is remembered when all else of its call is forgotten, by the next life, too", async () => {
  const at = stage();
  await at.begin();
  const first = await blocks(await at.post(keyed(1, "k")));
  assert.deepEqual(first.at(-1).data.result, { of: "r1" });
  await at.pass(5 * 60_000);
  for (let life = 0; life < 2; life += 1) {
    const { error } = await (await at.post(keyed(7, "k"))).json();
    assert.equal(error.data["io.landfall/failure"].reason, "interrupted");
    at.again();
  }
  assert.equal(at.landfall.made.length, 1);
});

test("ids of events are never used again, whatever was forgotten and however often the object was made anew", async () => {
  const at = stage();
  await at.begin();
  const seen = new Set();
  for (let n = 0; n < 5; n += 1) {
    const read = await blocks(await at.post(call(n, "count", { n })));
    for (const { id } of read) {
      assert.ok(!seen.has(id), id);
      seen.add(id);
    }
    await at.pass(2 * 60_000);
    at.again();
  }
});

test("what is thrown in a transaction leaves the store as it was", () => {
  const store = new MemoryStore();
  store.transaction(() => {
    store.setFact("a", "1");
    store.put(5, "n", "five");
  });
  const failing = () =>
    store.transaction(() => {
      store.setFact("a", "2");
      store.setFact("b", "2");
      store.put(5, "n", "other");
      store.put(6, "n", "six");
      store.remove(0, 6);
      throw new Error("no");
    });
  assert.throws(failing, /no/);
  assert.equal(store.fact("a"), "1");
  assert.equal(store.fact("b"), undefined);
  assert.deepEqual(store.rows(0, 10, 10), [{ id: 5, note: "n", text: "five" }]);
});
