// main.mjs [PART...]: landfall under load, and the official client beside it; without parts all of them. SECONDS, CALLS,
// AT_ONCE and SEED may be set in the environment. Prints tables, writes target/load.json, and exits with 1 where something
// is wrong with landfall.
import { fork } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { faultsOf } from "./storm.mjs";
import { TABLES } from "./tables.mjs";

const number = (name, value) => {
  const given = Number(process.env[name] || value);
  if (!(given > 0)) throw new Error(`${name} must be a positive number`);
  return given;
};
const load = {
  seed: number("SEED", 1),
  calls: number("CALLS", 10_000),
  seconds: number("SECONDS", 60),
  atOnce: number("AT_ONCE", 500),
};

const known = [
  ["storm", ["landfall", "official"], load],
  ["linear", ["landfall", "official", "bare"], { mib: [4, 16, 64], times: 3 }],
  ["concurrent", ["landfall", "official", "bare"], { streams: 1_000, events: 10_000, times: 3 }],
  ["resumes", ["landfall and bare"], { times: 100 }],
  ["idle", ["landfall", "official"], { sessions: 200 }],
];
const wanted = process.argv.slice(2);
const parts = known.filter(([part]) => wanted.length === 0 || wanted.includes(part));
const unknown = wanted.filter((part) => !known.some(([name]) => name === part));
if (unknown.length > 0) throw new Error(`no part is called ${unknown.join(", ")}`);

/** Runs one part in a process of its own: its server and its memory are no other's. */
function run(part, client, options) {
  const file = fileURLToPath(new URL("part.mjs", import.meta.url));
  const child = fork(file, [part, client, JSON.stringify(options)], { execArgv: ["--expose-gc"] });
  return new Promise((resolve, reject) => {
    child.once("message", resolve);
    child.once("exit", (code) => reject(new Error(`${part} of ${client} ended with ${code}`)));
  });
}

const results = { at: new Date().toISOString(), node: process.version, load };
mkdirSync("target", { recursive: true });
for (const [part, names, options] of parts) {
  results[part] = [];
  for (const name of names) {
    console.error(`${part}: ${name}`);
    results[part].push(await run(part, name, options));
  }
  console.log(`\n${TABLES[part](results)}`);
  writeFileSync("target/load.json", `${JSON.stringify(results, null, 2)}\n`);
}

const wrong = results.storm === undefined ? [] : faultsOf(results.storm[0]);
for (const line of wrong) console.error(`landfall: ${line}`);
process.exitCode = wrong.length === 0 ? 0 : 1;
