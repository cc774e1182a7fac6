// That `make bench` runs: one tiny round of each scenario. What it measures is asserted nowhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import { goals } from "../../www/bench/goals.mjs";
import { measure } from "../../www/bench/node.mjs";
import { summarize, table } from "../../www/bench/report.mjs";
import { loads } from "../../www/bench/scenarios.mjs";

test("each goal is measured in Node, beside its rivals", async () => {
  const lines = summarize(await measure(undefined, loads.tiny));
  assert.deepEqual(
    lines.map(({ id }) => id),
    goals.map(({ id }) => id),
  );
  for (const { id, value } of lines)
    assert.ok(value > 0 && value < Number.POSITIVE_INFINITY, `${id}: ${value}`);
  assert.equal(table(lines).split("\n").length, goals.length + 1);
});
