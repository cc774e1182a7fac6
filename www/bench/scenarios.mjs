// What is measured, wherever JavaScript runs. A scenario opens its rivals on the server, lets them take turns, and gives
// by name the CPU that each unit took, in microseconds.
import { madeFetch } from "./made.mjs";
import { interleave } from "./measure.mjs";
import { makersOf } from "./rivals.mjs";

/** How much is done in a round; `tiny` is for the test that all of this works. */
export const loads = {
  full: {
    small: 10_000,
    paced: 1_000,
    large: 100,
    calls: 480,
    open: 1_000,
    emitted: 500,
    rounds: 9,
    warm: 4,
  },
  tiny: { small: 40, paced: 40, large: 2, calls: 32, open: 8, emitted: 16, rounds: 1, warm: 0 },
};

const TRANSPORTS = ["landfall", "bare", "sdk", "sdk 1", "ai"];

const streams = {
  "160-transport": { rivals: TRANSPORTS, load: "small", size: 160, read: 16_384 },
  "160-alone": { rivals: ["landfall alone", "bare", "sdk"], load: "small", size: 160, read: 16_384 },
  "200-transport": { rivals: TRANSPORTS, load: "paced", size: 160, read: 200, paceMs: 0.02 },
  "200-made": { rivals: TRANSPORTS, load: "small", size: 160, read: 200, made: true },
  "100k-transport": { rivals: TRANSPORTS, load: "large", size: 100_000, read: 16_384 },
  "100k-records": { rivals: TRANSPORTS, load: "large", size: 100_000, read: 16_384, content: "records" },
};

function streamed({ rivals, load: name, ...how }) {
  return async (host, load) => {
    const events = load[name];
    const run = async (rival) => {
      const came = await rival.stream({ events, ...how });
      if (came !== events) throw new Error(`${came} of ${events} events came`);
    };
    const more = how.made ? { fetch: madeFetch } : {};
    return among(rivals, host, load, events, run, makersOf(host.packages, more));
  };
}

function called(wide) {
  return (host, load) =>
    among(TRANSPORTS, host, load, load.calls, async (rival) => {
      for (let n = 0; n < load.calls; n += wide) {
        const answers = await Promise.all(Array.from({ length: wide }, () => rival.call()));
        if (answers.some(({ content }) => content[0].text !== "done"))
          throw new Error("a call was not answered");
      }
    });
}

/** Opens the rivals, measures `run` of each, and closes them. */
async function among(rivals, host, load, units, run, makers = makersOf(host.packages)) {
  const runs = {};
  const opened = [];
  for (const name of rivals) {
    const rival = await makers[name](host.url);
    opened.push(rival);
    runs[name] = () => run(rival);
  }
  const samples = await interleave(runs, { ...load, cost: (each) => host.cost(each, units) });
  for (const rival of opened) await rival.close();
  return samples;
}

const control = (host, name, body) =>
  fetch(new URL(name, host.url), { method: "POST", body: JSON.stringify(body) }).then((sent) => sent.json());

async function until(condition) {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2));
}

/** A rival with so many calls open, to which events come in turn, each in a packet of its own. */
async function withOpen(host, name, { open, emitted }) {
  const set = `${name}, ${open} open`;
  const rival = await makersOf(host.packages)[name](host.url);
  const ended = Array.from({ length: open }, () => rival.hold(set));
  const emit = async (events) => {
    const before = rival.heldEvents();
    const { calls } = await control(host, "/emit", { set, events, size: 160, paceMs: 0.5 });
    await until(() => rival.heldEvents() >= before + events);
    return calls;
  };
  while ((await emit(0)) < open) await new Promise((resolve) => setTimeout(resolve, 20));
  return {
    set,
    run: () => emit(emitted),
    async close() {
      await control(host, "/release", { set });
      await Promise.all(ended);
      await rival.close();
    },
  };
}

async function opened(host, load) {
  const rivals = [];
  for (const name of ["landfall", "bare", "sdk"]) {
    for (const open of [load.open, 1]) rivals.push(await withOpen(host, name, { ...load, open }));
  }
  const runs = Object.fromEntries(rivals.map(({ set, run }) => [set, run]));
  const samples = await interleave(runs, { ...load, cost: (each) => host.cost(each, load.emitted) });
  for (const rival of rivals) await rival.close();
  return samples;
}

/** By id; each `(host, load) => samples by name`. A host has a `url`, the rivals' `packages`, and `cost(run, units)`. */
export const scenarios = {
  ...Object.fromEntries(Object.entries(streams).map(([id, how]) => [id, streamed(how)])),
  "short-1": called(1),
  "short-32": called(32),
  open: opened,
};
