// Plays a plan over sessions, many calls at once, and notes what became of each.
import { setTimeout as sleep } from "node:timers/promises";
import { cpuMs } from "./numbers.mjs";
import { planOf } from "./plan.mjs";

/** The call's own outcome, or `unsettled` at the bound. */
async function settled(call, boundMs) {
  const patience = new AbortController();
  const bound = sleep(boundMs, { outcome: "unsettled", odd: [] }, { signal: patience.signal });
  bound.catch(() => {});
  try {
    return await Promise.race([call, bound]);
  } finally {
    patience.abort();
  }
}

/** What became of each call, in memory that is there from the beginning: it is no growth of the heap. */
class Book {
  #added;
  #kinds;
  #known = new Map();
  #written = 0;
  odd = [];

  constructor(calls) {
    this.#added = new Float64Array(calls);
    this.#kinds = new Uint16Array(calls);
  }

  write({ addedMs, odd, key, ...kind }) {
    const text = JSON.stringify(kind);
    if (!this.#known.has(text)) this.#known.set(text, this.#known.size);
    const n = Number(key.slice(key.lastIndexOf("-") + 1));
    this.#added[n] = addedMs;
    this.#kinds[n] = this.#known.get(text);
    for (const each of odd) this.odd.push(`${key} (${kind.fault}): ${each}`);
    this.#written += 1;
    return this.#written;
  }

  rows(name) {
    const kinds = [...this.#known.keys()].map((text) => JSON.parse(text));
    return [...this.#added].map((addedMs, n) => ({ key: `${name}-${n}`, addedMs, ...kinds[this.#kinds[n]] }));
  }
}

/** Plays a plan over the sessions, `atOnce` at a time. `during` is called whenever a quarter of it is done. */
export async function play(plan, sessions, { atOnce, boundMs, during = () => {} }) {
  let events = 0;
  const book = new Book(plan.calls);
  const heard = () => {
    events += 1;
  };
  const calls = planOf(plan);
  // One after the other: all at once would meet each other at every step.
  const worker = async (session, n) => {
    await sleep((plan.lastsMs * n) / atOnce);
    for (const { script, lastsMs, tool, ...call } of calls) {
      const at = performance.now();
      const ended = await settled(session.call({ tool, script, key: call.key }, heard), boundMs);
      const done = book.write({ ...ended, ...call, addedMs: performance.now() - at - lastsMs });
      if (done % Math.ceil(plan.calls / 4) === 0) await during();
    }
  };
  const [startedAt, cpu] = [performance.now(), process.cpuUsage()];
  await Promise.all(Array.from({ length: atOnce }, (_, n) => worker(sessions[n % sessions.length], n)));
  return { book, events, seconds: (performance.now() - startedAt) / 1_000, cpuMs: cpuMs(cpu) };
}
