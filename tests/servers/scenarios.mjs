// What is done with each server, over each client: `play(stage)` gives what came of it as lines, which are compared with
// `expected`, or with what servers.mjs says of that server.
//
// A call's line tells how it ended and how often its tool ran; where it ran once and was answered also what was not seen
// of its steps, or not in order.
import { setTimeout as sleep } from "node:timers/promises";

const STEPS = 6;
/** Enough that a call is under way when it is resumed, or when what is done by hand strikes. */
const MANY_STEPS = 40;
const STEP_MS = 60;
/** Twice between two events, once inside an event. */
const THREE_CUTS = [
  { after: 2, how: "rst" },
  { after: 20, how: "fin" },
  { after: 30, how: "fin", inside: true },
];
const PATIENCE_MS = 30_000;
const AWAY_MS = 300;
const TRIES = 40;
const TRY_MS = 100;

const isListening = ({ method, key }) => method === "GET" && key === undefined;

async function until(holds) {
  for (const end = Date.now() + PATIENCE_MS; !holds() && Date.now() < end; ) await sleep(20);
}

async function list({ client, tools }) {
  const names = await client.list();
  return [
    ["count", "recite"].every((tool) => names.includes(tools[tool]({}).name)) ? "listed" : names.join(" "),
  ];
}

async function call(stage) {
  return [await stage.call("count", { steps: STEPS, interval_ms: STEP_MS }).line()];
}

/** The server says nothing for longer than a front's patience, before its first step. */
async function quiet(stage) {
  return [await stage.call("count", { steps: 1, interval_ms: 12_000 }).line()];
}

/** One that does something, and one that only reads; tools are listed, so that what is known of them counts. */
async function two(stage, plan) {
  await stage.client.list();
  return ["count", "recite"].map((tool) =>
    stage.call(tool, { steps: MANY_STEPS, interval_ms: STEP_MS, plan }),
  );
}

async function cut(stage) {
  const { proxy, cuts = THREE_CUTS } = stage;
  if (cuts !== "by hand") {
    const calls = await two(stage, cuts);
    const struck = (key) => proxy.faults.filter((fault) => fault.key === key).length;
    return Promise.all(calls.map(async (call) => `cut ${struckTimes(await call.line(), struck(call.key))}`));
  }
  const calls = await two(stage);
  await Promise.all(calls.map(({ progress }) => until(() => progress.length >= 2)));
  const times = calls.map((one) => proxy.cut(({ key }) => key === one.key));
  return Promise.all(calls.map(async (call, i) => `cut ${struckTimes(await call.line(), times[i])}`));
}

const struckTimes = (line, times) => `${times}: ${line}`;

/** A connection goes dead for a while; all others are well. */
async function stall(stage) {
  const [after] = stage.cuts === "by hand" ? [0] : [2];
  const calls = await two(stage, [{ after, how: "stall", ms: 4_000 }]);
  return Promise.all(calls.map((call) => call.line()));
}

/** The server dies under a call, and comes back where it was, with nothing in its memory. */
async function restart(stage) {
  const call = stage.call("count", { steps: MANY_STEPS, interval_ms: STEP_MS });
  await until(() => call.progress.length >= 3);
  await stage.server.kill();
  await sleep(AWAY_MS);
  await stage.server.startAgain();
  return [await call.line(), `next ${await stage.call("count", { steps: 2, interval_ms: STEP_MS }).line()}`];
}

async function cancel(stage) {
  const given = new AbortController();
  const call = stage.call("rest", { signal: given.signal });
  await until(() => call.progress.length > 0);
  given.abort();
  const line = await call.line();
  const stopped = async () => (await stage.counts(call.key)).cancelled > 0;
  for (let tries = 0; tries < TRIES && !(await stopped()); tries += 1) await sleep(TRY_MS / 2);
  return [`${line}, ${(await stopped()) ? "stopped" : "running on"}`];
}

/** Something changes that no call asked for, before and after the stream that tells it was cut. */
async function listen(stage) {
  const hears = async (when) => {
    const before = stage.heard();
    for (let tries = 1; stage.heard() === before && tries <= TRIES; tries += 1) {
      await stage.call("grow", { name: `grown_${when}_${stage.number}_${tries}` }).end;
      await sleep(TRY_MS);
    }
    return stage.heard() > before ? "heard" : "not heard";
  };
  const before = await hears("before");
  const listening = stage.proxy.exchanges.some(
    (exchange) => isListening(exchange) && exchange.status === 200,
  );
  const cuts = listening ? stage.proxy.cut(isListening) : "none";
  return [`${before}, cut ${cuts}, ${await hears("after")}`];
}

const once = (tool) => `${tool}: answer, 1 run`;

/** Where `alone`, it has a server of its own; where `fronts`, it is played only with a server behind a front. */
export const SCENARIOS = [
  { name: "list", play: list, expected: ["listed"] },
  { name: "call", play: call, expected: [once("count")] },
  { name: "quiet", play: quiet, fronts: true, expected: [once("count")] },
  { name: "cut", play: cut, expected: [`cut 3: ${once("count")}`, `cut 3: ${once("recite")}`] },
  {
    name: "stall",
    play: stall,
    timeouts: { connectMs: 700, idleMs: 800 },
    expected: [once("count"), once("recite")],
  },
  {
    name: "restart",
    play: restart,
    alone: true,
    expected: ["count: session_lost, 1 run", `next ${once("count")}`],
  },
  { name: "cancel", play: cancel, expected: ["rest: cancelled, 1 run, stopped"] },
  { name: "listen", play: listen, expected: ["heard, cut 1, heard"] },
];
