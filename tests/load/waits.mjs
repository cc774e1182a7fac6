// How soon a stream is resumed, beyond the wait that the server asked for; and what an idle session holds.
import { setTimeout as sleep } from "node:timers/promises";
import { PlainClient, readEvents } from "../server/plain-client.mjs";
import { inUse } from "./memory.mjs";
import { median, quantile } from "./numbers.mjs";

/** What a server asks for: nothing, and a wait that a tenth is added to at most. */
const RETRY_MS = [0, 10];

async function landfall(url) {
  const { connect } = await import("../../target/npm/entry/index.js");
  const session = await connect(url);
  return {
    call: (args) => session.callTool("scripted", args).catch(() => {}),
    close: () => session.close(),
  };
}

/** A `fetch` by hand that reads on where it was cut: what this machine takes for that at least. */
async function bare(url) {
  const client = await PlainClient.open(url);
  return {
    async call({ key, steps }) {
      const response = await client.script(key, steps);
      const { events, retry } = await readEvents(response);
      const resume = () => client.resume(events.at(-1).id);
      const again = await (retry === 0 ? resume() : sleep(retry).then(resume));
      await again.text();
    },
    close: () => client.delete(),
  };
}

const CLIENTS = { landfall, bare };
const ENDS = { cut: { cut: "rst" }, closed: { close: true } };

/**
 * Milliseconds from a cut to the GET that resumes it, less the `retry` of its stream, by the server's clock; all in turn, so
 * that each meets the same machine.
 */
export async function resumes(_, server, { times }) {
  const rows = [];
  for (const [client, open] of Object.entries(CLIENTS)) {
    const opened = await open(server.url);
    for (const [how, end] of Object.entries(ENDS)) {
      for (const retryMs of RETRY_MS) rows.push({ opened, client, how, end, retryMs });
    }
  }
  for (let n = -1; n < times; n += 1) {
    for (const { opened, client, how, end, retryMs } of rows) {
      const begin = [{ prime: true, retry: retryMs }, { message: "open" }, { wait: 20 }];
      // The first one compiles what the others run.
      const key = n < 0 ? "first" : `${client} ${how} ${retryMs} ${n}`;
      await opened.call({ key, steps: [...begin, end, { awaitResume: true }] });
    }
  }
  const measured = rows.map(async ({ client, how, retryMs }) => {
    const comebacks = await server.ask("comebacks", `${client} ${how} ${retryMs} `);
    const waits = comebacks.map((ms) => ms - retryMs);
    return { client, how, retryMs, p50: median(waits), p90: quantile(waits, 0.9), least: quantile(waits, 0) };
  });
  const results = await Promise.all(measured);
  for (const opened of new Set(rows.map((row) => row.opened))) await opened.close();
  return results;
}

/** Bytes of heap and of WebAssembly memory for each of so many sessions that do nothing. */
export async function idle(makeClient, server, { sessions: count }) {
  const { name, open } = await makeClient();
  // In turn: each connection of the runtime's that they share would count as theirs.
  const sessions = async (n) => {
    const opened = [];
    while (opened.length < n) opened.push(await open(server.url, { timeouts: {}, atOnce: 24, isIdle: true }));
    return opened;
  };
  for (const session of await sessions(20)) await session.close();
  const before = await inUse();
  const idle = await sessions(count);
  const after = await inUse();
  for (const session of idle) await session.close();
  const each = (what) => (after[what] - before[what]) / count;
  return { client: name, sessions: count, heap: each("heap"), wasm: each("wasm") };
}
