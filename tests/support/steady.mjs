// Real clocks on a busy machine: how late the event loop was while this process did not work, and another run for what
// failed meanwhile.

// Taken here, for some tests have clocks of their own.
const { setInterval, clearInterval } = globalThis;
const now = performance.now.bind(performance);

const EVERY_MS = 10;
/** A timer of a machine that has nothing else to do is no later. */
const JITTER_MS = 2;
/** From this share of its time on a process is starved. With two busy loops beside it on two cores it is the double, idle. */
const STARVED = 1 / 200;
const MOST_RUNS = 4;

/** Watches the event loop until it is called: `{ lateMs, ofMs, isStarved }`. What this process worked is not counted. */
export function watchLag() {
  const startedAt = now();
  let lastAt = startedAt;
  let worked = process.cpuUsage();
  let lateMs = 0;
  const look = () => {
    const { user, system } = process.cpuUsage(worked);
    const at = now();
    const late = at - lastAt - EVERY_MS - JITTER_MS - (user + system) / 1_000;
    lateMs += Math.max(0, late);
    lastAt = at;
    worked = process.cpuUsage();
  };
  const timer = setInterval(look, EVERY_MS);
  timer.unref();
  return () => {
    clearInterval(timer);
    look();
    const ofMs = now() - startedAt;
    return { lateMs: Math.round(lateMs), ofMs: Math.round(ofMs), isStarved: lateMs > ofMs * STARVED };
  };
}

/**
 * What `run` gives. Where it fails, and the machine was starved meanwhile, that is said and it runs again, a few times; the
 * last failure counts as any does. On a machine that has time a failure is one at once.
 */
export async function steady(name, run, { watch = watchLag, say = console.log } = {}) {
  for (let runs = 1; ; runs += 1) {
    const stop = watch();
    try {
      return await run();
    } catch (error) {
      const { lateMs, ofMs, isStarved } = stop();
      if (!isStarved || runs === MOST_RUNS) throw error;
      say(`${name}: starved (${lateMs} ms of ${ofMs} ms), so it runs again: ${error?.message ?? error}`);
    } finally {
      stop();
    }
  }
}
