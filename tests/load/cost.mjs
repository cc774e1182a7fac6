// What messages cost: of one long event in small chunks, and of many streams at once. CPU of this process.
import { setTimeout as sleep } from "node:timers/promises";
import { cpuMs, median } from "./numbers.mjs";

const CHUNK = 64;
const MIB = 1 << 20;

/** Milliseconds of CPU for one event of so many bytes in chunks of 64. */
async function longEvent(transport, url, bytes) {
  let done;
  const ended = new Promise((resolve) => {
    done = resolve;
  });
  const onmessage = (message) => message.id === 1 && done();
  const limits = { maxEventBytes: 2 * bytes };
  const opened = await transport.open(url, { onmessage, limits });
  const params = { name: "long", arguments: { bytes, chunk: CHUNK } };
  // The server makes it first, and that is not waited for here by working.
  const cpu = process.cpuUsage();
  await opened.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  await ended;
  const ms = cpuMs(cpu);
  await opened.close();
  return ms;
}

/** Nanoseconds of CPU per byte at each size, in turn so that each meets the same machine: `{ bytes: ns }` and the ratio. */
export async function linear(transport, server, { mib, times }) {
  const url = new URL("/plain", server.url);
  await longEvent(transport, url, MIB);
  const ns = Object.fromEntries(mib.map((size) => [size, []]));
  for (let n = 0; n < times; n += 1) {
    for (const size of mib) {
      globalThis.gc?.();
      ns[size].push(((await longEvent(transport, url, size * MIB)) * 1e6) / (size * MIB));
    }
  }
  const perByteNs = Object.fromEntries(mib.map((size) => [size, median(ns[size])]));
  return { client: transport.name, perByteNs, ratio: perByteNs[mib.at(-1)] / perByteNs[mib[0]] };
}

const BURST = 1_000;
const EVERY_MS = 250;

/** Microseconds of CPU per event with so many streams open; each event comes in a chunk of its own. */
async function perEvent(transport, server, { streams, events, toAll }) {
  let came = 0;
  let done;
  const ended = new Promise((resolve) => {
    done = resolve;
  });
  const onmessage = ({ method }) => {
    if (method === undefined) return;
    came += 1;
    if (came === events) done(process.cpuUsage());
  };
  const limits = { maxConcurrent: streams + 8 };
  const opened = await transport.open(new URL("/plain", server.url), { onmessage, limits });
  const group = `${transport.name} ${performance.now()}`;
  for (let id = 1; id <= streams; id += 1) {
    const params = { name: "group", arguments: { group } };
    void opened.send({ jsonrpc: "2.0", id, method: "tools/call", params }).catch(() => {});
  }
  while ((await server.ask("waiting", group)) < streams) await sleep(20);
  globalThis.gc?.();
  const cpu = process.cpuUsage();
  const over = server.ask("bursts", { group, events, burst: BURST, everyMs: EVERY_MS, toAll });
  const at = await ended;
  await over;
  await opened.close();
  return (at.user + at.system - cpu.user - cpu.system) / events;
}

/**
 * The cost of an event in microseconds, and against that with one stream open, medians: with so many open, where each event
 * comes on another one, and where all come on one.
 */
export async function concurrent(transport, server, { streams, events, times }) {
  const ways = {
    one: { streams: 1, events },
    spread: { streams, events, toAll: true },
    among: { streams, events },
  };
  const us = { one: [], spread: [], among: [] };
  await perEvent(transport, server, { ...ways.one });
  for (let n = 0; n < times; n += 1)
    for (const [name, way] of Object.entries(ways)) us[name].push(await perEvent(transport, server, way));
  const ratio = (name) => median(us[name].map((each, n) => each / us.one[n]));
  return {
    ...{ client: transport.name, streams },
    perEventUs: { one: median(us.one), spread: median(us.spread), among: median(us.among) },
    ratios: { spread: ratio("spread"), among: ratio("among") },
  };
}
