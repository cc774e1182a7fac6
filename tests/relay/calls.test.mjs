// Calls through the relay: one outcome each, whoever comes and goes.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Blocks, blocks, Clock, call, Raw, stage, until } from "./stage.mjs";

const texts = (read) =>
  read.filter(({ data }) => data).map(({ data }) => data.result?.content?.[0].text ?? data);
const result = (read) => texts(read).at(-1);
const running = (stage) => /landfall_relay_calls (\d+)/.exec(stage.relay.register.metrics())[1];

async function client(at, options) {
  const raw = new Raw(at.url);
  await raw.initialize(options);
  return raw;
}

/** A held call whose client has gone after it began: the id of its first event. */
async function cut(at, raw, id, key, _meta) {
  const stop = new AbortController();
  const drops = () => /landfall_relay_drops_total (\d+)/.exec(at.relay.register.metrics())[1];
  const before = drops();
  const response = await raw.post(call(id, "hold", { key }, _meta), { signal: stop.signal });
  const first = await new Blocks(response).next();
  await until(() => at.upstream.runs(key) === 1, "the run");
  stop.abort();
  await until(() => drops() !== before, "the drop");
  return first.id;
}

// By their names: `at` is the stage, `json` whether the server answers by JSON.
const cases = {
  "an answer comes under the id that was sent, of the type that it had": async ({ at }) => {
    const raw = await client(at);
    for (const id of [1, "1", 0, "", "täg", 2.5]) {
      const read = await blocks(await raw.post(call(id, "count", { key: `id ${typeof id} ${id}` })));
      assert.equal(read.at(-1).data.id, id);
      assert.equal(result(read), "run 1");
    }
  },

  "the answer's headers and an empty event are there before the server says anything": async ({
    at,
    json,
  }) => {
    const raw = await client(at);
    const response = await raw.post(call(1, "hold", { key: `early ${json}` }));
    assert.equal(response.headers.get("content-type"), "text/event-stream");
    assert.equal(response.headers.get("x-accel-buffering"), "no");
    const reader = new Blocks(response);
    const { id, data } = await reader.next();
    assert.match(id, /^[0-9a-f]{6}-1\/0$/);
    assert.equal(data, undefined);
    at.upstream.release(`early ${json}`);
    while ((await reader.next()) !== undefined);
  },

  "a client of an earlier version gets a comment in place of the empty event": async ({ at, json }) => {
    const raw = await client(at, { version: "2025-06-18" });
    const [first, ...more] = await blocks(await raw.post(call(1, "count", { key: `old ${json}` })));
    assert.deepEqual(first, { comment: "" });
    assert.equal(result(more), "run 1");
  },

  "whoever comes back with the id of the last event gets what is missing, and the tool ran once": async ({
    at,
    clock,
    json,
  }) => {
    const raw = await client(at);
    const key = `resumed ${json}`;
    const id = await cut(at, raw, 1, key);
    await clock.pass(30_000);
    at.upstream.release(key);
    const read = await blocks(await raw.get(id));
    assert.equal(result(read), `held ${key}`);
    assert.equal(at.upstream.runs(key), 1);
    assert.equal((await raw.get(read.at(-1).id)).status, 204, "there is no more");
  },

  "a result that came while the client was away is kept for the grace period, and then forgotten": async ({
    at,
    clock,
    json,
  }) => {
    const raw = await client(at);
    const key = `kept ${json}`;
    const id = await cut(at, raw, 1, key);
    at.upstream.release(key);
    await until(() => running(at) === "0");
    await clock.pass(59_000);
    assert.equal(result(await blocks(await raw.get(id))), `held ${key}`);
    await clock.pass(61_000);
    assert.equal((await raw.get(id)).status, 400);
  },

  "that a body was read to its end frees nothing": async ({ at, json }) => {
    const raw = await client(at);
    const read = await blocks(await raw.post(call(1, "count", { key: `read ${json}` })));
    const again = await blocks(await raw.get(read[0].id));
    assert.deepEqual(again, read);
  },

  "a call that nobody comes back for is cancelled upstream": async ({ at, clock, json }) => {
    const raw = await client(at);
    const key = `gone ${json}`;
    const id = await cut(at, raw, 1, key);
    await clock.pass(59_000);
    assert.equal(at.upstream.cancelled.has(key), false);
    await clock.pass(2_000);
    await until(() => at.upstream.cancelled.has(key), "the cancel");
    assert.equal((await raw.get(id)).status, 400);
  },

  "a repeat of a request that runs attaches to it, from its first event, and the old connection ends":
    async ({ at, json }) => {
      const raw = await client(at);
      const key = `twice ${json}`;
      const one = await raw.post(call(7, "hold", { key }));
      await until(() => at.upstream.runs(key) === 1);
      const other = await raw.post(call(7, "hold", { key }));
      assert.equal(
        texts(await blocks(one)).some((text) => text === `held ${key}`),
        false,
      );
      at.upstream.release(key);
      const read = await blocks(other);
      assert.match(read[0].id, /\/0$/);
      assert.equal(result(read), `held ${key}`);
      assert.equal(at.upstream.runs(key), 1);
    },

  "a repeat of one that has ended is answered by it for ten seconds, and then is another": async ({
    at,
    clock,
    json,
  }) => {
    const raw = await client(at);
    const key = `again ${json}`;
    const ask = async () => result(await blocks(await raw.post(call(7, "count", { key }))));
    assert.equal(await ask(), "run 1");
    await clock.pass(9_000);
    assert.equal(await ask(), "run 1");
    await clock.pass(2_000);
    assert.equal(await ask(), "run 2");
  },

  "two at once are one": async ({ at, json }) => {
    const raw = await client(at);
    const key = `at once ${json}`;
    const both = await Promise.all([1, 1, 1].map((id) => raw.post(call(id, "count", { key }))));
    const read = await Promise.all(both.map((each) => blocks(each)));
    assert.ok(read.some((each) => result(each) === "run 1"));
    assert.equal(at.upstream.runs(key), 1);
  },

  "another body under the id of a call that runs is refused; an id of another type is another": async ({
    at,
    json,
  }) => {
    const raw = await client(at);
    const key = `busy ${json}`;
    const one = await raw.post(call(7, "hold", { key }));
    const refused = await raw.post(call(7, "count", { key: `${key} 2` }));
    assert.equal(refused.status, 400);
    assert.equal((await refused.json()).error.code, -32600);
    const other = await raw.post(call("7", "count", { key: `${key} 3` }));
    assert.equal(result(await blocks(other)), "run 1");
    at.upstream.release(key);
    assert.equal(result(await blocks(one)), `held ${key}`);
  },

  "a call with a key runs once, under whatever id it comes, and whenever": async ({ at, clock, json }) => {
    const raw = await client(at);
    const key = `keyed ${json}`;
    const meta = { "landfall/call-key": key };
    await cut(at, raw, 1, key, meta);
    const again = await raw.post(call("second", "hold", { key }, meta));
    at.upstream.release(key);
    const read = await blocks(again);
    assert.equal(read.at(-1).data.id, "second");
    assert.equal(result(read), `held ${key}`);
    await clock.pass(61_000);
    const late = await (await raw.post(call(3, "hold", { key }, meta))).json();
    const told = late.error.data["io.landfall/failure"];
    assert.deepEqual([late.id, told.reason, told.outcome], [3, "interrupted", "unknown"]);
    assert.equal(at.upstream.runs(key), 1);
  },

  "progress bears the token of the client, and where it gave none there is none": async ({ at, json }) => {
    const raw = await client(at);
    for (const token of [5, "five", undefined]) {
      const key = `progress ${json} ${token}`;
      at.upstream.release(key);
      const meta = token === undefined ? undefined : { progressToken: token };
      const read = await blocks(await raw.post(call(1, "hold", { key, steps: 3 }, meta)));
      const told = read.filter(({ data }) => data?.method === "notifications/progress");
      const tokens = told.map(({ data }) => data.params.progressToken);
      // By JSON nothing but the answer comes.
      assert.deepEqual(tokens, token === undefined || json ? [] : [token, token, token]);
    }
  },

  "a cancel reaches the server under the id that it knows, and ends the stream without an answer": async ({
    at,
    json,
  }) => {
    const raw = await client(at);
    const key = `cancelled ${json}`;
    const response = await raw.post(call("c", "hold", { key }));
    await until(() => at.upstream.runs(key) === 1);
    const cancel = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "c" } };
    assert.equal((await raw.post(cancel)).status, 202);
    const read = await blocks(response);
    assert.equal(read.filter(({ data }) => data?.id === "c").length, 0);
    await until(() => at.upstream.cancelled.has(key), "the cancel");
    assert.equal((await raw.get(read.at(-1).id)).status, 204);
  },

  "ten slow calls at once in one session are all answered": async ({ at, json }) => {
    const raw = await client(at);
    const keys = Array.from({ length: 10 }, (_, n) => `slow ${json} ${n}`);
    const open = await Promise.all(keys.map((key, n) => raw.post(call(n, "hold", { key }))));
    await until(() => keys.every((key) => at.upstream.runs(key) === 1), "ten runs");
    for (const key of keys.reverse()) at.upstream.release(key);
    const read = await Promise.all(open.map((each) => blocks(each)));
    for (const [n, each] of read.entries()) assert.equal(result(each), `held slow ${json} ${n}`);
  },

  "a result of many rows arrives whole": async ({ at }) => {
    const raw = await client(at);
    const read = await blocks(await raw.post(call(1, "large", { size: 1_700_001 })));
    assert.equal(result(read), "é".repeat(1_700_001));
    assert.equal(read.at(-1).id, read[0].id.replace(/0$/, "1"));
  },

  "DELETE ends the session, here and at the server": async ({ at }) => {
    const raw = await client(at);
    await until(() => at.upstream.sessions.size > 0);
    const { size } = at.upstream.sessions;
    assert.equal((await raw.delete()).status, 204);
    assert.equal(at.upstream.sessions.size, size - 1);
    assert.equal((await raw.post(call(1, "count", { key: "ended" }))).status, 404);
  },

  "a session that the server forgot is told as 404 once its calls have settled": async ({ at, json }) => {
    const raw = await client(at);
    const { body } = { body: await blocks(await raw.post(call(1, "count", { key: `alive ${json}` }))) };
    assert.equal(result(body), "run 1");
    at.upstream.forget();
    const read = await blocks(await raw.post(call(2, "count", { key: `dead ${json}` })));
    const told = read.at(-1).data.error.data["io.landfall/failure"];
    assert.equal(told.reason, "session_lost");
    assert.notEqual(told.outcome, "not_sent");
    assert.equal((await raw.post(call(3, "count", { key: `dead ${json}` }))).status, 404);
    assert.equal((await blocks(await raw.get(read[0].id))).at(-1).data.id, 2, "what was told is kept");
  },
};

for (const json of [false, true])
  describe(`before a server that answers by ${json ? "JSON" : "streams"} and keeps nothing`, () => {
    const given = { json, clock: new Clock() };
    before(async () => {
      given.at = await stage({ server: { json }, clock: given.clock });
    });
    after(() => given.at.close());
    for (const [name, run] of Object.entries(cases)) test(name, () => run(given));
  });

test("a session without a request ends after half an hour, and nothing of it is left", async (t) => {
  const clock = new Clock();
  const at = await stage({ clock });
  t.after(() => at.close());
  const raw = new Raw(at.url);
  await raw.initialize();
  await blocks(await raw.post(call(1, "count", { key: "idle" })));
  assert.equal(at.relay.sessions.size, 1);
  await clock.pass(25 * 60_000);
  await raw.post({ jsonrpc: "2.0", id: 5, method: "ping" });
  await clock.pass(25 * 60_000);
  assert.equal(at.relay.sessions.size, 1);
  await clock.pass(6 * 60_000);
  await until(() => at.relay.sessions.size === 0, "the end");
  await until(() => at.upstream.sessions.size === 0, "the DELETE");
  assert.equal((await raw.post(call(2, "count", { key: "idle" }))).status, 404);
  assert.match(at.relay.register.metrics(), /\nlandfall_relay_sessions 0\n/);
});

test("a quiet session lets its server's connection go, and takes the session up again", async (t) => {
  const clock = new Clock();
  const at = await stage({ clock });
  t.after(() => at.close());
  const raw = new Raw(at.url);
  await raw.initialize();
  await blocks(await raw.post(call(1, "count", { key: "first" })));
  await clock.pass(120_000);
  const read = await blocks(await raw.post(call(2, "count", { key: "second" })));
  assert.equal(result(read), "run 1");
  const initialized = at.upstream.log.filter(({ body }) => body?.method === "initialize");
  assert.equal(initialized.length, 1);
});

test("a long stream is closed politely, and goes on by its last event", async (t) => {
  const clock = new Clock();
  const at = await stage({ clock, env: { STREAM_MS: "60000" } });
  t.after(() => at.close());
  const raw = new Raw(at.url);
  await raw.initialize();
  const response = await raw.post(call(1, "hold", { key: "long" }));
  const reader = new Blocks(response);
  const primed = await reader.next();
  const { id } = await reader.message();
  const [next] = await Promise.all([reader.next(), clock.pass(61_000)]);
  const closing = next.retry ? next : await reader.next();
  assert.equal(closing.retry, "200");
  assert.equal(await reader.next(), undefined);
  assert.notEqual(id, primed.id);
  at.upstream.release("long");
  assert.equal(result(await blocks(await raw.get(id))), "held long");
});

test("a comment comes every fifteen seconds", async (t) => {
  const clock = new Clock();
  const at = await stage({ clock });
  t.after(() => at.close());
  const raw = new Raw(at.url);
  await raw.initialize();
  const reader = new Blocks(await raw.post(call(1, "hold", { key: "beat" })));
  await reader.message();
  for (let n = 0; n < 3; n += 1) {
    const [block] = await Promise.all([reader.next(), clock.pass(15_001)]);
    assert.deepEqual(block, { comment: "" });
  }
  at.upstream.release("beat");
  await reader.message();
});

test("a client that takes nothing for the grace period has left, though its connection stands", async (t) => {
  const clock = new Clock();
  const at = await stage({ clock });
  t.after(() => at.close());
  const raw = new Raw(at.url);
  await raw.initialize();
  // More than what sockets hold, and nobody reads it.
  const response = await raw.post(call(1, "large", { size: 7_000_000 }));
  await until(() => running(at) === "0", "the answer");
  await new Promise((resolve) => setTimeout(resolve, 200));
  await clock.pass(125_000);
  await until(() => /drops_total 1\n/.test(at.relay.register.metrics()), "the drop");
  await response.body.cancel();
});
