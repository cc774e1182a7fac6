// Many sessions through a line that drops connections, slow calls side by side, and what an event costs.
// STORM_SECONDS=60 has it last for a minute, SEED another weather.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { inUse } from "../../load/memory.mjs";
import { quantile } from "../../load/numbers.mjs";
import { timed } from "../../support/timed.mjs";
import { blocks, Clock, call, landfall, Raw, serveBefore, stage, until } from "../stage.mjs";
import { startTelling } from "./telling.mjs";
import { random, weather } from "./weather.mjs";

const SECONDS = Number(process.env.STORM_SECONDS ?? 8);
const SEED = Number(process.env.SEED ?? 13);
const SESSIONS = 100;
const AT_ONCE = 10;
const GRACE_MS = 60_000;
const IDLE_MS = 1_800_000;
const STEPS = 4;

/** One call: what is wrong with it, if anything. */
async function oneCall(session, key, everyMs) {
  const heard = [];
  try {
    const made = session.callTool("tell", { key, steps: STEPS, everyMs });
    for await (const { type, message } of made) if (type === "message") heard.push(message.params.data.step);
    const { content } = await made.result;
    if (content[0].text !== `${key} told ${STEPS}`) return [`${key}: ${content[0].text}`];
  } catch (error) {
    return [`${key}: ${error.message}`];
  }
  return heard.join() === "1,2,3,4" ? [] : [`${key}: heard ${heard.join()}`];
}

/** Half of them end their sessions, the others are just gone. */
const open = (url, name) =>
  landfall.connect(url, { relay: true, logger: false, terminateSessionOnClose: name % 2 === 0 });

async function openAll(url) {
  const sessions = [];
  while (sessions.length < SESSIONS) {
    const names = Array.from({ length: AT_ONCE }, (_, n) => sessions.length + n);
    sessions.push(...(await Promise.all(names.map((name) => open(url, name)))));
  }
  return sessions;
}

/** A user's calls, one after the other, until the storm is over. */
async function user(session, name, endsAt) {
  const next = random(SEED * 1_000 + name);
  const wrong = [];
  const keys = [];
  while (Date.now() < endsAt) {
    const key = `${name}/${keys.length}`;
    keys.push(key);
    wrong.push(...(await oneCall(session, key, 40 + Math.floor(next() * 160))));
    await sleep(next() * 600);
  }
  return { wrong, keys };
}

const metric = (relay, name) => Number(new RegExp(`_${name} (\\d+)\n`).exec(relay.register.metrics())[1]);

/** What users did, and what is wrong with it. */
async function storm(t, { upstream, line, sessions }) {
  const endsAt = Date.now() + SECONDS * 1_000;
  const users = await Promise.all(sessions.map((session, name) => user(session, name, endsAt)));
  line.calm();
  const keys = users.flatMap((each) => each.keys);
  t.diagnostic(`${keys.length} calls, ${line.dropped()} connections dropped, seed ${SEED}`);
  const wrong = users.flatMap((each) => each.wrong);
  assert.deepEqual(wrong, []);
  const odd = keys.filter((key) => upstream.runs.get(key) !== 1);
  assert.deepEqual(odd, [], "each ran once");
  assert.ok(line.dropped() > SESSIONS / 4, "there was a storm");
}

/** What is kept of calls goes after the grace period, sessions once they are idle. */
async function passesAway({ upstream, relay, clock }) {
  await clock.pass(GRACE_MS + 1_000);
  await until(() => metric(relay, "buffered_bytes") === 0, "empty buffers");
  await clock.pass(IDLE_MS);
  await until(() => relay.sessions.size === 0, "the end of all sessions");
  await until(() => upstream.sessions.size === 0, "the end of the server's sessions");
  const left = ["sessions", "calls", "buffered_bytes"].map((name) => metric(relay, name));
  assert.deepEqual(left, [0, 0, 0]);
}

timed(
  "a hundred sessions through seeded faults lose nothing, run nothing twice, and leave nothing",
  async (t) => {
    const upstream = await startTelling();
    const clock = new Clock();
    const env = { GRACE_MS, IDLE_MS, MOST_SESSIONS: 2 * SESSIONS, MOST_CALLS: 4 * SESSIONS };
    const relay = await serveBefore(upstream.url, { env, clock });
    const line = await weather(relay.url, SEED);
    try {
      const sessions = await openAll(line.url);
      await storm(t, { upstream, line, sessions });
      await Promise.all(sessions.splice(0).map((session) => session.close()));
      await passesAway({ upstream, relay, clock });
    } finally {
      await line.close();
      await relay.close();
      await upstream.close();
    }
    const { instances } = await inUse();
    assert.equal(instances, 0, "each session's landfall is gone, on both sides");
  },
);

test("ten slow calls of one session are at the server at once, though it answers by JSON", async (t) => {
  const at = await stage({ server: { json: true } });
  t.after(() => at.close());
  const raw = new Raw(at.url);
  await raw.initialize();
  const keys = Array.from({ length: 10 }, (_, n) => `slow ${n}`);
  // Each has its headers at once, long before the server says anything.
  const made = await Promise.all(keys.map((key, n) => raw.post(call(n + 1, "hold", { key }))));
  await until(() => keys.every((key) => at.upstream.runs(key) === 1), "all runs");
  for (const key of keys.toReversed?.() ?? [...keys].reverse()) at.upstream.release(key);
  const read = await Promise.all(made.map((response) => blocks(response)));
  assert.deepEqual(
    read.map((each) => each.at(-1).data.result.content[0].text),
    keys.map((key) => `held ${key}`),
  );
  assert.deepEqual(
    keys.map((key) => at.upstream.runs(key)),
    keys.map(() => 1),
  );
});

/** How late each event is, in milliseconds: the server is in this process. */
async function latencies(url, key) {
  const late = [];
  const session = await landfall.connect(url);
  const made = session.callTool("tell", { key, steps: 200, everyMs: 5 });
  for await (const { type, message } of made)
    if (type === "message") late.push(performance.now() - message.params.data.at);
  await session.close();
  return late;
}

test("what the relay adds to an event is measured", async (t) => {
  const upstream = await startTelling();
  const relay = await serveBefore(upstream.url);
  t.after(async () => {
    await relay.close();
    await upstream.close();
  });
  await latencies(relay.url, "warm");
  const [direct, relayed] = [await latencies(upstream.url, "direct"), await latencies(relay.url, "relayed")];
  assert.deepEqual([direct.length, relayed.length], [200, 200]);
  const told = (late) => [0.5, 0.99].map((part) => quantile(late, part).toFixed(2)).join(" and ");
  t.diagnostic(`an event is late by ${told(direct)} ms directly, ${told(relayed)} ms relayed (median, 99th)`);
});
