// What a run has to show, and how it is shown.
import { readFile } from "node:fs/promises";

/** By run and scenario, the names of the checks that pass with the official transport: `main.mjs official --record`. */
export const BASELINE = JSON.parse(await readFile(new URL("baseline.json", import.meta.url), "utf8"));

/** Scenarios that may fail, `"RUN SCENARIO"`. With the official transport none does. */
export const EXPECTED_FAILURES = new Set([]);

/** What is wrong with a row: its own problems, and checks that it does not get as far as. */
export function faults({ passed, problems }, baseline = []) {
  const missing = baseline.filter((name) => !passed.includes(name));
  return [
    ...problems,
    ...missing.map((name) => `${name}: passes with the official transport, and was not reached`),
  ];
}

/** A line per scenario of the baseline, so that one that no longer runs is seen. */
export function verdicts(run, rows) {
  return Object.entries(BASELINE[run.name]).map(([scenario, baseline]) => {
    const row = rows.find((candidate) => candidate.scenario === scenario);
    const found = row ? faults(row, baseline) : ["it did not run"];
    const expected = EXPECTED_FAILURES.has(`${run.name} ${scenario}`);
    return { scenario, checks: row?.passed.length ?? 0, faults: found, ok: found.length === 0 || expected };
  });
}

export function table(run, lines) {
  const width = Math.max(...lines.map(({ scenario }) => scenario.length));
  const passed = lines.filter(({ faults }) => faults.length === 0).length;
  return [
    `${run.name}: ${passed} of ${lines.length} scenarios`,
    ...lines.flatMap(({ scenario, checks, faults, ok }) => [
      `  ${ok ? "ok  " : "FAIL"}  ${scenario.padEnd(width)}  ${String(checks).padStart(2)} checks`,
      ...faults.map((fault) => `          ${fault}`),
    ]),
  ].join("\n");
}
