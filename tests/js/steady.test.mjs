// What a test with a real clock makes of a busy machine (tests/support/steady.mjs).
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { steady, watchLag } from "../support/steady.mjs";

const failing = new Error("too late");
const lag = (isStarved) => () => () => ({ lateMs: 40, ofMs: 100, isStarved });

/** How often something runs that fails the first `times`, and what is said; `isStarved` is what the machine was. */
async function played(times, isStarved) {
  const said = [];
  let runs = 0;
  const run = async () => {
    runs += 1;
    if (runs <= times) throw failing;
    return "given";
  };
  const options = { watch: lag(isStarved), say: (line) => said.push(line) };
  const outcome = await steady("a test", run, options).catch((thrown) => thrown);
  return { outcome, runs, said };
}

test("what fails on a machine that has time fails at once", async () => {
  assert.deepEqual(await played(1, false), { outcome: failing, runs: 1, said: [] });
});

test("what fails while the machine is starved runs again, and that is said", async () => {
  const { outcome, runs, said } = await played(2, true);
  assert.deepEqual([outcome, runs], ["given", 3]);
  assert.deepEqual(said, Array(2).fill("a test: starved (40 ms of 100 ms), so it runs again: too late"));
});

test("nothing passes by starvation: the last failure is one", async () => {
  const { outcome, runs, said } = await played(99, true);
  assert.deepEqual([outcome, runs, said.length], [failing, 4, 3]);
});

test("a loop that could not run is starved, and one that had its own work is not", async () => {
  const stop = watchLag();
  // Sleeps as a thread does that gets no processor.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  await sleep(20);
  const { lateMs, ofMs, isStarved } = stop();
  assert.ok(isStarved && lateMs > 100 && lateMs < ofMs, `${lateMs} of ${ofMs}`);
  const watched = watchLag();
  const before = process.cpuUsage();
  while (process.cpuUsage(before).user < 100_000);
  const { user, system } = process.cpuUsage(before);
  const own = watched();
  // Other threads of the process work beside it.
  const notOwnMs = Math.max(0, own.ofMs - (user + system) / 1_000);
  assert.ok(
    own.lateMs <= notOwnMs + 2,
    `${own.lateMs} of ${own.ofMs}, of which ${notOwnMs} were not its own`,
  );
});
