// The servers of others that `make test` has installed anyway, over landfall's ways in. `make servers` has all.
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { CLIENTS } from "./clients.mjs";
import { differences, markdown } from "./report.mjs";
import { playAll, scenariosOf } from "./run.mjs";
import { missing, SERVERS } from "./servers.mjs";

for (const kind of SERVERS.filter(({ light }) => light)) {
  const skip = missing(kind).length > 0 && `not installed: ${missing(kind).join(", ")}`;
  describe(kind.name, { skip, timeout: 180_000 }, () => {
    let rows;
    before(async () => {
      rows = await playAll(kind);
    });
    for (const { name } of scenariosOf(kind)) {
      for (const client of CLIENTS) {
        test(`${name}, ${client.name}`, () => {
          const row = rows.find((one) => one.scenario.name === name && one.client === client);
          assert.deepEqual(row.lines, row.expected);
        });
      }
    }
  });
}

test("a line that is not as expected is told, and clients that fared alike are shown as one", () => {
  const scenario = { name: "call", expected: ["count: answer, 1 run"] };
  const row = (name, lines, ms) => ({
    scenario,
    client: { name },
    lines,
    expected: scenario.expected,
    ms,
  });
  const alike = [row("one", ["count: answer, 1 run"], 100), row("two", ["count: answer, 1 run"], 1_100)];
  const kind = { name: "theirs" };
  assert.deepEqual(differences([{ kind, rows: alike }]), []);
  const [, , shown] = markdown([{ kind, rows: alike }]).split("\n");
  assert.equal(shown, "| theirs | call | count: answer, 1 run (0.1 s to 1.1 s) |");
  const other = [alike[0], row("two", ["count: answer, 2 runs"], 500)];
  assert.deepEqual(differences([{ kind, rows: other }]), [
    "theirs, call, two: count: answer, 2 runs\n    not count: answer, 1 run",
  ]);
  const [, , told] = markdown([{ kind, rows: other }]).split("\n");
  assert.equal(
    told,
    "| theirs | call | one: count: answer, 1 run<br>two: count: answer, 2 runs (0.1 s to 0.5 s) |",
  );
});
