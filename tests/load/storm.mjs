// Many calls, many at once, faults as planned: how fast, how late, at which cost, and what is wrong at the end.
import { setTimeout as sleep } from "node:timers/promises";
import { inUse } from "./memory.mjs";
import { quantile } from "./numbers.mjs";
import { play } from "./play.mjs";

/** Sessions, each with an equal part of what is open at once. */
const SESSIONS = 20;
/** An outcome may be that much later than the last of the clocks. */
const GRACE_MS = 2_000;
const CLOSE_MS = 5_000;

/** The clocks of the load: short, so that what is half-open is found within the run. */
function timeoutsFor(lastsMs) {
  const idleMs = Math.max(500, lastsMs / 2);
  return { idleMs, callMs: 4 * idleMs, recoveryMs: 10 * idleMs, deadlineMs: 20 * idleMs };
}

const count = (rows, of) => {
  const counts = {};
  for (const row of rows) counts[of(row)] = (counts[of(row)] ?? 0) + 1;
  return Object.fromEntries(Object.entries(counts).sort(([, a], [, b]) => b - a));
};

const endings = (rows) => count(rows, ({ outcome, reason }) => (outcome === "failed" ? reason : outcome));

/** What a run comes to, or some of its calls. */
function summary({ events, seconds, cpuMs }, rows) {
  const answered = rows.filter(({ outcome }) => outcome === "answer");
  const added = answered.map(({ addedMs }) => addedMs);
  return {
    ...{ calls: rows.length, seconds, perSecond: rows.length / seconds, answered: answered.length },
    unsettled: rows.filter(({ outcome }) => outcome === "unsettled").length,
    endings: endings(rows),
    ...{ addedP50: quantile(added, 0.5), addedP99: quantile(added, 0.99) },
    ...{ events, cpuPerEventUs: (cpuMs * 1_000) / events },
  };
}

/** How often each fault struck, and how its calls ended. */
function faultsIn(rows) {
  const names = Object.keys(count(rows, ({ fault }) => fault));
  return Object.fromEntries(
    names.map((name) => {
      const struck = rows.filter(({ fault }) => fault === name);
      const added = struck.filter(({ outcome }) => outcome === "answer").map(({ addedMs }) => addedMs);
      return [name, { ...endings(struck), addedP50: quantile(added, 0.5), addedP99: quantile(added, 0.99) }];
    }),
  );
}

/** The rows whose tool ran more often than it may, or has another number of runs than the outcome says. */
function wrongRuns(rows, executions) {
  return rows.flatMap(({ key, fault, isSafe, outcome, known }, i) => {
    const runs = executions[i];
    const twice =
      !isSafe && runs > 1 ? [`${key} (${fault}): a tool that may run once ran ${runs} times`] : [];
    const never =
      outcome === "answer" && runs === 0 ? [`${key} (${fault}): answered, and the tool never ran`] : [];
    const denied =
      (known === "not_sent" || known === "rejected") && runs > 0
        ? [`${key} (${fault}): ${known}, and the tool ran`]
        : [];
    return [...twice, ...never, ...denied];
  });
}

async function closeAll(sessions) {
  const closing = Promise.allSettled(sessions.map((session) => session.close()));
  await Promise.race([closing, sleep(CLOSE_MS, undefined, { ref: false })]);
}

const openAll = (client, url, options) =>
  Promise.all(Array.from({ length: SESSIONS }, () => client.open(url, options)));

/**
 * One client through calm runs and then the storm, in this process. Memory is measured before and after the storm, where
 * nothing is open, and at its quarters, where `atOnce` calls are; at last once everything is closed.
 */
export async function storm(makeClient, server, { seed, calls, seconds, atOnce }) {
  const unhandled = [];
  const note = (thrown) => unhandled.push(String(thrown));
  process.on("unhandledRejection", note);
  const client = await makeClient();
  const lastsMs = (seconds * 1_000 * atOnce) / calls;
  const timeouts = timeoutsFor(lastsMs);
  const sessions = await openAll(client, server.url, { timeouts, atOnce: Math.ceil(atOnce / SESSIONS) });
  const bounds = { atOnce, boundMs: timeouts.deadlineMs + GRACE_MS };
  const quiet = { seed, lastsMs, isCalm: true };
  // The first calls compile what the others run.
  await play({ ...quiet, name: "warm", calls: atOnce }, sessions, bounds);
  const calm = await play({ ...quiet, name: "calm", calls: Math.max(atOnce, calls / 10) }, sessions, bounds);
  const memory = { begin: await inUse(), during: [] };
  const during = async () => memory.during.push(await inUse(1));
  const run = await play({ name: "storm", seed, calls, lastsMs }, sessions, { ...bounds, during });
  memory.during.length = 3;
  memory.end = await inUse();
  await closeAll(sessions);
  sessions.length = 0;
  const rows = run.book.rows("storm");
  const keys = rows.map(({ key }) => key);
  const executions = await server.ask("executions", keys);
  const connections = await server.ask("connections");
  memory.closed = await inUse();
  process.off("unhandledRejection", note);
  const whole = (played, name) => summary(played, played.book.rows(name));
  return {
    ...{ client: client.name, timeouts, calm: whole(calm, "calm"), storm: whole(run, "storm") },
    /** The calls that nothing befell, among the others. */
    spared: summary(
      run,
      rows.filter(({ fault }) => fault === "none"),
    ),
    ...{ memory, connections, unhandled, server: await server.ask("requests") },
    ...{ wrongRuns: wrongRuns(rows, executions), odd: run.book.odd },
    faults: faultsIn(rows),
  };
}

/** What may grow over a storm: the JavaScript heap, in bytes. */
const MOST_GROWTH = 2 << 20;
/** WebAssembly's memory grows by these. */
const PAGE = 1 << 16;

/** What is wrong with a storm of landfall's; empty if nothing is. */
export function faultsOf({ storm, calm, wrongRuns, odd, memory, connections, unhandled, server }) {
  const { begin, end, during, closed } = memory;
  const grown = end.heap - begin.heap;
  const wasmGrown = end.wasm - during.at(-1).wasm;
  const said = (is, text) => (is ? [text] : []);
  return [
    ...said(storm.unsettled + calm.unsettled > 0, `${storm.unsettled + calm.unsettled} calls are unsettled`),
    ...said(calm.answered < calm.calls, `without faults: ${JSON.stringify(calm.endings)}`),
    ...wrongRuns,
    ...odd,
    ...said(grown > MOST_GROWTH, `the heap has grown by ${grown} bytes`),
    ...said(wasmGrown > PAGE * SESSIONS, `wasm memory went on growing, by ${wasmGrown} bytes`),
    ...said(closed.instances > 0, `${closed.instances} instances are left`),
    ...said(
      closed.sockets > 0 || connections > 0,
      `${closed.sockets} sockets stay, ${connections} at the server`,
    ),
    ...said(server.open > 0, `${server.open} bodies are still open`),
    ...unhandled.map((text) => `unhandled: ${text}`),
  ];
}
