// A line to a relay that drops connections as a seed has it: by a reset or a FIN, sooner or later, or before anything came.
import { connect, createServer } from "node:net";
import { couple } from "../couple.mjs";

/** Numbers from 0 to 1 of a seed. */
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

// Of connections: how many are refused, and how many dropped, after so long at most.
const REFUSED = 0.05;
const DROPPED = 0.5;
const MOST_MS = 1_500;

/** `{ url, dropped(), calm(), close() }`; once it is calm nothing more befalls it. */
export async function weather(url, seed) {
  const { port, pathname } = new URL(url);
  const next = random(seed);
  const sockets = new Set();
  const faults = { count: 0, isOn: true };
  const strike = (near) => {
    if (!faults.isOn || near.destroyed) return;
    faults.count += 1;
    if (next() < 0.5) near.resetAndDestroy();
    else near.destroy();
  };
  const server = createServer((near) => {
    near.on("error", () => {});
    if (faults.isOn && next() < REFUSED) return strike(near);
    if (faults.isOn && next() < DROPPED) setTimeout(strike, next() * MOST_MS, near).unref();
    const far = connect(Number(port), "127.0.0.1");
    couple(near, far, sockets);
    near.pipe(far).pipe(near);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}${pathname}`,
    dropped: () => faults.count,
    calm() {
      faults.isOn = false;
    },
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
