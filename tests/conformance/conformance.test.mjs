// The official conformance suite, client mode: SDK 2's Client over our transport, and our own client, do no worse than that
// Client over its own transport.
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { SUBJECT } from "../migration/transports.mjs";
import { BASELINE, table, verdicts } from "./judge.mjs";
import { RUNS, runScenarios, STAND_ALONE } from "./suite.mjs";

const CASES = [SUBJECT, STAND_ALONE].flatMap((subject) => RUNS.map((run) => ({ subject, run })));

for (const { subject, run } of CASES) {
  describe(`conformance ${run.name}, ${subject}`, () => {
    const scenarios = Object.keys(BASELINE[run.name]);
    let rows;
    before(async () => {
      rows = await runScenarios(run, subject);
    });
    for (const [i, scenario] of scenarios.entries()) {
      test(scenario, () => {
        const { ok, faults } = verdicts(run, rows, subject)[i];
        assert.deepEqual(ok ? [] : faults, []);
      });
    }
    test("the suite has no other scenario", () => {
      assert.deepEqual(rows.map((row) => row.scenario).sort(), [...scenarios].sort());
    });
  });
}

test("a scenario that may fail is shown as it is, and is no reason to fail", () => {
  const run = RUNS[0];
  const scenario = "auth/scope-step-up";
  const judged = (subject) => verdicts(run, [], subject).find((line) => line.scenario === scenario);
  assert.deepEqual(judged(STAND_ALONE).faults, ["it did not run"]);
  assert.deepEqual([judged(STAND_ALONE).ok, judged(SUBJECT).ok], [true, false]);
});

test("a check that is not reached and a scenario that does not run are faults", () => {
  const run = RUNS[0];
  const rows = Object.entries(BASELINE[run.name]).map(([scenario, passed]) => ({
    scenario,
    passed,
    problems: [],
  }));
  assert.ok(verdicts(run, rows).every(({ ok }) => ok));
  const [first, second, ...others] = rows;
  const lines = verdicts(run, [
    { ...second, passed: second.passed.slice(1), problems: ["other: broken"] },
    ...others,
  ]);
  assert.deepEqual(lines[0].faults, ["it did not run"]);
  assert.deepEqual(lines[1].faults, [
    "other: broken",
    `${second.passed[0]}: passes with the official transport, and was not reached`,
  ]);
  assert.deepEqual(
    lines.map(({ ok }) => ok),
    [false, false, ...others.map(() => true)],
  );
  assert.match(table(run, lines), new RegExp(`^  FAIL  ${first.scenario} +0 checks$`, "m"));
});
