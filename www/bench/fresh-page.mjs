// What can be measured once in a page only: import and first answer, and what a session holds.
import { setTimeout as sleep } from "node:timers/promises";
import { cpuOf } from "./proc.mjs";

/** Runs in the page. */
const load = async (who) => {
  globalThis.client = await import(`/page-${who}.js`);
};

/** Runs in the page. */
const answer = async (url) => {
  const { open, call } = globalThis.client;
  const { content } = await call(await open(url));
  if (content[0].text !== "done") throw new Error("no answer");
};

/** Runs in the page. */
const openMany = async ({ url, count }) => {
  const { open, call } = globalThis.client;
  globalThis.sessions ??= [];
  for (let n = 0; n < count; n += 1) {
    const session = await open(url);
    await call(session);
    globalThis.sessions.push(session);
  }
};

/** Runs in the page before anything else. */
const keepMemories = () => {
  globalThis.memories = [];
  WebAssembly.Instance = new Proxy(WebAssembly.Instance, {
    construct(target, args) {
      const made = Reflect.construct(target, args);
      globalThis.memories.push(
        Object.values(made.exports).find((each) => each instanceof WebAssembly.Memory),
      );
      return made;
    },
  });
};

/** A host has a `url`, and `inPage(run(page, pids))`: milliseconds of CPU until `who` is imported, and until its first answer is there. */
async function cold(host, who) {
  return host.inPage(async (page, pids) => {
    const start = cpuOf(pids);
    await page.evaluate(load, who);
    const imported = cpuOf(pids) - start;
    await page.evaluate(answer, host.url);
    return { import: imported / 1_000, answer: (cpuOf(pids) - start) / 1_000 };
  });
}

/** KiB of the heap, and of wasm memory, for each session. */
async function memory(host, who) {
  return host.inPage(async (page) => {
    await page.evaluate(keepMemories);
    await page.evaluate(load, who);
    const devtools = await page.context().newCDPSession(page);
    const heap = async (count) => {
      await page.evaluate(openMany, { url: host.url, count });
      for (let n = 0; n < 3; n += 1) {
        await sleep(50);
        await devtools.send("HeapProfiler.collectGarbage");
      }
      return (await devtools.send("Runtime.getHeapUsage")).usedSize;
    };
    const [warm, count] = [8, 16];
    const before = await heap(warm);
    const after = await heap(count);
    const wasm = await page.evaluate(() =>
      globalThis.memories.reduce((sum, { buffer }) => sum + buffer.byteLength, 0),
    );
    return { heap: (after - before) / count / 1_024, wasm: wasm / (warm + count) / 1_024 };
  });
}

/** Each with a page of its own: `(host, who)`. */
export const inPages = { cold, memory };
