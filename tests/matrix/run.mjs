// Runs a client through all faults at once, each against a server of its own, and notes what became of each call.
import { setTimeout as sleep } from "node:timers/promises";
import { steady } from "../support/steady.mjs";
import { FAULTS } from "./faults.mjs";
import { serve } from "./server.mjs";

/** What a client still sends for a call that is over is counted for so long. */
const AFTER_MS = 2_500;
const CLOSE_MS = 2_000;

/**
 * A list per client of one row per fault: `{ name, outcome, reason, ms, executions, resumes, resumesAfter, comebackMs }`.
 * The outcome is `answer`, `error` (the server's own, also an answer), `failed`, `timeout` or `pending`.
 */
export async function runAll(clients, faults = FAULTS) {
  const stages = clients.map((client) => faults.map((fault) => openStage(client, fault)));
  try {
    // All are connected before the first call: no handshake disturbs a measurement.
    const ready = await Promise.all(stages.map((row) => Promise.all(row)));
    return await Promise.all(ready.map((row) => Promise.all(row.map(play))));
  } finally {
    const opened = (await Promise.allSettled(stages.flat())).filter(({ status }) => status === "fulfilled");
    await Promise.all(opened.map(({ value }) => closeStage(value)));
  }
}

/**
 * The rows of one client, as `run(faults)` gives them. The clocks are real: those that `isExpected(row, fault)` does not
 * take are played again where the machine was starved, without the others.
 */
export async function runSteadily(name, run, faults, isExpected) {
  const rows = new Map();
  const isOpen = (fault) => !rows.has(fault) || !isExpected(rows.get(fault), fault);
  const playOpen = async () => {
    const open = faults.filter(isOpen);
    for (const [i, row] of (await run(open)).entries()) rows.set(open[i], row);
    const odd = faults.filter(isOpen).map((fault) => fault.name);
    if (odd.length > 0) throw new Error(odd.join(", "));
  };
  // What is odd to the end is told row by row.
  await steady(name, playOpen).catch((thrown) => {
    if (rows.size < faults.length) throw thrown;
  });
  return faults.map((fault) => rows.get(fault));
}

async function openStage(client, fault) {
  const server = await serve(fault);
  try {
    const session = await client.open(server.url, fault);
    // The first call of a client also compiles its code; that is no fault.
    await session.call("scripted", { key: "warm-up", steps: [] });
    return { client, fault, server, session };
  } catch (error) {
    await server.close();
    throw error;
  }
}

async function play({ client, fault, server, session }) {
  fault.before?.(server);
  const started = performance.now();
  const call = session.call("scripted", { key: fault.name, steps: fault.steps });
  const verdict = await watch(client, call);
  const ms = Math.round(performance.now() - started);
  const settledAt = Date.now();
  if (verdict.outcome !== "pending") await sleep(AFTER_MS);
  return {
    name: fault.name,
    ...verdict,
    ms,
    executions: server.executions(),
    resumes: server.resumes().length,
    resumesAfter: server.resumes().filter(({ at }) => at > settledAt).length,
    comebackMs: fault.hint && server.comebackMs(fault.hint),
  };
}

async function watch(client, call) {
  const patience = new AbortController();
  const pending = sleep(client.observeMs, { outcome: "pending" }, { signal: patience.signal });
  const settled = call.then(
    () => ({ outcome: "answer" }),
    (error) => client.explain(error),
  );
  try {
    return await Promise.race([settled, pending]);
  } finally {
    patience.abort();
    pending.catch(() => {});
  }
}

async function closeStage({ session, server }) {
  // Some of these clients never come back from this either.
  await Promise.race([Promise.resolve(session.close()).catch(() => {}), sleep(CLOSE_MS)]);
  await server.close();
}
