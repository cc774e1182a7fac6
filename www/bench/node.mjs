// node www/bench/node.mjs [WORDS...] [--rounds N]: the package in Node beside its rivals; with words only the scenarios
// whose name contains one of them. Prints a table and writes target/bench/node.json. CPU is that of the whole process.
import { execFile, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { main } from "./main.mjs";
import { measureAll, once } from "./once.mjs";
import { scenarios } from "./scenarios.mjs";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
setFlagsFromString("--expose-gc");
const gc = runInNewContext("gc");

/** The server in its own process, which ends with this one. */
export async function startServer() {
  const child = spawn(process.execPath, [here("server.mjs")], { stdio: ["pipe", "pipe", "inherit"] });
  const line = await new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", resolve);
    child.once("exit", () => reject(new Error("the server does not start")));
  });
  return { url: JSON.parse(line).url, stop: () => child.stdin.end() };
}

/** Microseconds of CPU for each unit. What others left behind is collected before, and not counted. */
async function cost(run, units) {
  gc({ type: "minor" });
  await new Promise((resolve) => setTimeout(resolve, 1));
  const start = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / units;
}

async function fresh(url, what, who) {
  const { stdout } = await promisify(execFile)(process.execPath, [here("fresh.mjs"), what, who, url]);
  return JSON.parse(stdout);
}

const ids = [...Object.keys(scenarios), ...Object.keys(once)];

/** Results by id, each `{ unit, samples }`. */
export async function measure(wanted, load) {
  const packages = await import("./node-rivals.mjs");
  const { url, stop } = await startServer();
  const host = { url, packages, cost, fresh: (what, who) => fresh(url, what, who) };
  try {
    return await measureAll(wanted ?? ids, { scenarios, host, load });
  } finally {
    stop();
  }
}

if (process.argv[1] === here("node.mjs")) {
  await main("node", ids, async (wanted, load) => ({
    runtime: `Node ${process.version}`,
    results: await measure(wanted, load),
  }));
}
