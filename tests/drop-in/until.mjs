// Waits for what a test can only look at.
import { setTimeout as sleep } from "node:timers/promises";

/** Waits for what a test can only look at; fails after `patienceMs`. */
export async function until(isSo, patienceMs = 5_000) {
  const end = Date.now() + patienceMs;
  while (!isSo()) {
    if (Date.now() > end) throw new Error(`not so within ${patienceMs} ms: ${isSo}`);
    await sleep(10);
  }
}
