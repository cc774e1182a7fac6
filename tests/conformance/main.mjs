// main.mjs [landfall|official|stand-alone] [--record]: the table of the conformance suite, scenario by scenario; exit 0 only if no
// scenario does worse than with the official transport. `--record` makes what it does the new baseline.
import { writeFile } from "node:fs/promises";
import { node22 } from "../../www/build/node24.mjs";
import { SUBJECT } from "../migration/transports.mjs";
import { BASELINE, table, verdicts } from "./judge.mjs";
import { RUNS, runScenarios } from "./suite.mjs";

const subject = process.argv.slice(2).find((argument) => !argument.startsWith("--")) ?? SUBJECT;
const record = process.argv.includes("--record");

function asText(baseline) {
  const runs = Object.entries(baseline).map(([name, scenarios]) => {
    const lines = Object.entries(scenarios).map(
      ([scenario, names]) => `    ${JSON.stringify(scenario)}: ${JSON.stringify(names)}`,
    );
    return `  ${JSON.stringify(name)}: {\n${lines.join(",\n")}\n  }`;
  });
  return `{\n${runs.join(",\n")}\n}\n`;
}

async function main() {
  if (!node22()) throw new Error("the conformance suite needs Node 22 or newer");
  let ok = true;
  for (const run of RUNS) {
    const rows = await runScenarios(run, subject);
    if (record)
      BASELINE[run.name] = Object.fromEntries(rows.map(({ scenario, passed }) => [scenario, passed]));
    const lines = verdicts(run, rows, subject);
    ok &&= lines.every((line) => line.ok);
    console.log(`${table(run, lines)}\n`);
  }
  if (record && ok) await writeFile(new URL("baseline.json", import.meta.url), asText(BASELINE));
  process.exitCode = ok ? 0 : 1;
}

await main();
