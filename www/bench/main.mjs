// What the programs of the benchmarks have in common: their words, their rounds, and what they leave behind.
import { parseArgs } from "node:util";
import { report } from "./report.mjs";
import { loads } from "./scenarios.mjs";

/** Measures those of `ids` that have one of the words of the command line: `measure(wanted, load)`. */
export async function main(name, ids, measure) {
  const { values, positionals: words } = parseArgs({
    options: { rounds: { type: "string" } },
    allowPositionals: true,
  });
  const wanted = ids.filter((id) => words.length === 0 || words.some((word) => id.includes(word)));
  const rounds = Number(values.rounds ?? loads.full.rounds);
  const { runtime, results } = await measure(wanted, { ...loads.full, rounds });
  report(name, results, { runtime, isWhole: wanted.length === ids.length });
  process.exit(0);
}
