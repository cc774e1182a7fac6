// What is in use, after the garbage was collected. Needs --expose-gc, and to be loaded before what it watches.
import { setTimeout as sleep } from "node:timers/promises";

const made = [];
WebAssembly.Instance = new Proxy(WebAssembly.Instance, {
  construct(target, args) {
    const instance = Reflect.construct(target, args);
    made.push(new WeakRef(instance));
    return instance;
  },
});

const collect = globalThis.gc;
const memoryOf = ({ exports }) => Object.values(exports).find((each) => each instanceof WebAssembly.Memory);

/** `{ heap, wasm, instances, sockets }`; `turns`: how often it is collected. What a finalizer lets go falls to the next time. */
export async function inUse(turns = 5) {
  for (let n = 0; n < turns; n += 1) {
    if (n > 0) await sleep(20);
    collect();
  }
  const instances = made.map((ref) => ref.deref()).filter(Boolean);
  return {
    heap: process.memoryUsage().heapUsed,
    wasm: instances.reduce((sum, instance) => sum + memoryOf(instance).buffer.byteLength, 0),
    instances: instances.length,
    sockets: process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length,
  };
}
