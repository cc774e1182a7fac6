// What is in use, after the garbage was collected. Needs --expose-gc, and to be loaded before what it watches.
import { setTimeout as sleep } from "node:timers/promises";
import { inInstances } from "../support/instances.mjs";

const collect = globalThis.gc;

/** `{ heap, wasm, instances, sockets }`; `turns`: how often it is collected. What a finalizer lets go falls to the next time. */
export async function inUse(turns = 5) {
  for (let n = 0; n < turns; n += 1) {
    if (n > 0) await sleep(20);
    collect();
  }
  return {
    heap: process.memoryUsage().heapUsed,
    ...inInstances(),
    sockets: process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length,
  };
}
