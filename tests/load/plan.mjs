// What is called, and what befalls it: the same for each client under the same seed.

/** Each call tells so many things, evenly spread over its time: messages and progress in turn. */
export const BEATS = 10;

/** Numbers from 0 to 1 that a seed decides (mulberry32). */
export function randomOf(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const REFUSED = { status: 503, headers: { "retry-after": "1" } };
const refused = (refusal) => [{ refuseResume: refusal }, { cut: "rst" }];

/** How often each fault strikes, of 1,000 calls: by steps in the middle of the call, or by what its POST meets. */
export const FAULTS = {
  none: { of: 301 },
  reset: { of: 140, steps: [{ cut: "rst" }] },
  "cut off": { of: 100, steps: [{ cut: "fin" }] },
  "cut inside an event": { of: 80, steps: [{ cut: "inside" }] },
  "cut twice": { of: 40, steps: [{ cut: "rst" }, { awaitResume: true }, { cut: "fin" }] },
  "closed, retry: 100": { of: 90, steps: [{ close: true, retry: 100 }] },
  "half-open": { of: 50, steps: [{ stall: 0 }] },
  "half-open, 409": { of: 15, steps: [{ whileHeld: "409" }, { stall: 0 }] },
  "resume: 503, Retry-After": { of: 45, steps: refused(REFUSED) },
  "resume: cut": { of: 25, steps: refused({ cutBeforeHeaders: "rst" }) },
  "resume: silence": { of: 15, steps: refused({ hang: true }) },
  "resume: 404": { of: 5, steps: [{ evict: 404 }, { cut: "rst" }] },
  "cut without ids": { of: 15, steps: [{ cut: "rst" }], first: [{ noIds: true }] },
  "POST: 503, Retry-After": { of: 38, post: { ...REFUSED, times: 1 } },
  "POST: reset": { of: 15, post: { cutBeforeHeaders: "rst", times: 1 } },
  "POST: reset, and run": { of: 15, post: { cutBeforeHeaders: "rst", execute: true, times: 1 } },
  "POST: slow": { of: 10, post: { delayMs: 300 } },
  // One that is sent again would kill the next session, too; of more than three a minute landfall makes none.
  "dead session": { of: 1, steps: [{ killSession: 404 }], isSafe: false },
};

/** What the tools say of themselves: whether they may run twice. */
const TOOLS = [
  { tool: "scripted", of: 4, isSafe: false },
  { tool: "scripted_idempotent", of: 3, isSafe: true },
  { tool: "scripted_read", of: 3, isSafe: true },
];

function drawn(choices, random) {
  let left = random() * choices.reduce((sum, { of }) => sum + of, 0);
  return choices.find(({ of }) => {
    left -= of;
    return left < 0;
  });
}

const beat = (key, n) => (n % 2 === 1 ? { message: `${key} ${n}` } : { progress: n, total: BEATS });

/** A call with its fault: `{ key, fault, tool, isSafe, script, lastsMs }`; `lastsMs` is what it takes where nothing is wrong. */
function planned(key, lastsMs, random, isCalm) {
  const faults = Object.entries(FAULTS).map(([name, fault]) => ({ name, ...fault }));
  const fault = drawn(isCalm ? [faults[0]] : faults, random);
  const { name, steps = [], first = [{ prime: true }], post } = fault;
  const { tool, isSafe } = drawn(
    TOOLS.filter((each) => fault.isSafe === undefined || each.isSafe === fault.isSafe),
    random,
  );
  const at = 2 + Math.floor(random() * (BEATS - 2));
  const wait = { wait: lastsMs / BEATS };
  const beats = Array.from({ length: BEATS }, (_, i) => [
    wait,
    beat(key, i + 1),
    ...(i + 1 === at ? steps : []),
  ]);
  return { key, fault: name, tool, isSafe, script: { steps: [...first, ...beats.flat()], post }, lastsMs };
}

/** `calls` of them, each of `lastsMs`: made when they are asked for, so that they take no memory before. */
export function* planOf({ name, seed, calls, lastsMs, isCalm = false }) {
  const random = randomOf(seed);
  for (let n = 0; n < calls; n += 1) yield planned(`${name}-${n}`, lastsMs, random, isCalm);
}
