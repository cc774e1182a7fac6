// What a run has to show, and how it is shown.
import { readFile } from "node:fs/promises";
import { STAND_ALONE } from "./suite.mjs";

/** By run and scenario, the names of the checks that pass with the official transport: `main.mjs official --record`. */
export const BASELINE = JSON.parse(await readFile(new URL("baseline.json", import.meta.url), "utf8"));

/** Scenarios that may fail, `"RUN SCENARIO"`, by subject. With the official transport none does. */
const EXPECTED_FAILURES = {
  // Its provider is told of a 401, and nobody of the scope that a 403 asks for.
  [STAND_ALONE]: ["2025-11-25 auth/scope-step-up", "2026-07-28 auth/scope-step-up"],
};

/** What is wrong with a row: its own problems, and checks that it does not get as far as. */
export function faults({ passed, problems }, baseline = []) {
  const missing = baseline.filter((name) => !passed.includes(name));
  return [
    ...problems,
    ...missing.map((name) => `${name}: passes with the official transport, and was not reached`),
  ];
}

/** A line per scenario of the baseline, so that one that no longer runs is seen. */
export function verdicts(run, rows, subject) {
  const mayFail = EXPECTED_FAILURES[subject] ?? [];
  return Object.entries(BASELINE[run.name]).map(([scenario, baseline]) => {
    const row = rows.find((candidate) => candidate.scenario === scenario);
    const found = row ? faults(row, baseline) : ["it did not run"];
    const expected = mayFail.includes(`${run.name} ${scenario}`);
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
