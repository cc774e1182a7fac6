// node www/bench/node.mjs [WORDS...] [--rounds N]: the package in Node beside its rivals; with words only the scenarios
// whose name contains one of them. Prints a table and writes target/bench/node.json. CPU is that of the whole process.
import { execFile, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { interleave } from "./measure.mjs";
import { report } from "./report.mjs";
import { loads, scenarios } from "./scenarios.mjs";

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

async function fresh(what, who, url) {
  const { stdout } = await promisify(execFile)(process.execPath, [here("fresh.mjs"), what, who, url]);
  return JSON.parse(stdout);
}

/** Each sample in a new process: `parts` names what it prints. */
function inFresh(what, parts, units) {
  return async ({ url }, { rounds, warm }) => {
    const runs = Object.fromEntries(["landfall", "sdk"].map((who) => [who, () => fresh(what, who, url)]));
    const samples = await interleave(runs, { rounds, warm: Math.min(warm, 1), cost: (run) => run() });
    const of = (part) =>
      Object.fromEntries(Object.entries(samples).map(([who, each]) => [who, each.map((one) => one[part])]));
    return Object.fromEntries(
      parts.map((part) => [`${what}-${part}`, { samples: of(part), unit: units[part] }]),
    );
  };
}

const once = {
  cold: inFresh("cold", ["import", "answer"], { import: "ms", answer: "ms" }),
  memory: inFresh("memory", ["heap", "wasm"], { heap: "KiB", wasm: "KiB" }),
};

/** Results by id, each `{ unit, samples }`. */
export async function measure(words, load) {
  const packages = await import("./node-rivals.mjs");
  const server = await startServer();
  const wanted = (id) => words.length === 0 || words.some((word) => id.includes(word));
  const host = { url: server.url, packages, cost };
  const results = {};
  try {
    for (const [id, scenario] of Object.entries(scenarios).filter(([name]) => wanted(name))) {
      results[id] = { unit: "us", samples: await scenario(host, load) };
    }
    for (const [, scenario] of Object.entries(once).filter(([name]) => wanted(name))) {
      Object.assign(results, await scenario(host, load));
    }
  } finally {
    server.stop();
  }
  return results;
}

if (process.argv[1] === here("node.mjs")) {
  const { values, positionals } = parseArgs({
    options: { rounds: { type: "string" } },
    allowPositionals: true,
  });
  const rounds = Number(values.rounds ?? loads.full.rounds);
  const results = await measure(positionals, { ...loads.full, rounds });
  report("node", results, { runtime: `Node ${process.version}`, whole: positionals.length === 0 });
  process.exit(0);
}
