// tests/field_reports.md: every report once, with tests that exist or the part that will have them.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasTest, listed, testsOf } from "./support/listed.mjs";

/** How many reports each group has. */
const GROUPS = [12, 13, 15, 9, 17, 12, 14, 10, 11, 9, 12, 3];
const expected = GROUPS.flatMap((count, group) =>
  Array.from({ length: count }, (_, report) => `A${group + 1}.${report + 1}`),
);

const reports = listed("tests/field_reports.md");

describe("field reports", () => {
  test("every report is there, once", () => {
    assert.deepEqual(
      reports.map(({ id }) => id),
      expected,
    );
  });

  test("each has a test, a part that will have one, or a reason why it needs none", () => {
    for (const { id, items } of reports) {
      assert.ok(items.length > 0, id);
      for (const item of items) {
        assert.match(item, /^(`\S+\.(rs|mjs) [^`]+`|part \d \(.+\)|does not apply: .+)$/, id);
      }
    }
  });

  test("every test that is named exists", () => {
    const tests = testsOf(reports);
    const missing = tests.filter(([, path, name]) => !hasTest(path, name));
    assert.deepEqual(missing, []);
    assert.ok(tests.length > 150, `${tests.length} are named`);
  });
});
