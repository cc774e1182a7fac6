// tests/corrections.md: every fault once, with tests that exist; those that have none yet are counted.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasTest, listed, namesTest, testsOf } from "./support/listed.mjs";

/** How many faults each group has; T are behaviours that no test had noticed. */
const GROUPS = { S: 13, R: 23, P: 9, W: 11, M: 15, T: 34 };
const expected = Object.entries(GROUPS).flatMap(([group, count]) =>
  Array.from({ length: count }, (_, place) => `${group}${place + 1}`),
);

const corrections = listed("tests/corrections.md");

describe("corrections", () => {
  test("every fault is there, once", () => {
    assert.deepEqual(
      corrections.map(({ id }) => id),
      expected,
    );
  });

  test("each has a test, is open, or has a reason why no test can tell", (t) => {
    for (const { id, items } of corrections) {
      assert.ok(items.length > 0, id);
      for (const item of items) {
        const isSaid = item === "open" || namesTest.test(item) || /^no test can tell: \S/.test(item);
        assert.ok(isSaid, `${id}: ${item}`);
      }
    }
    const open = corrections.filter(({ items }) => items.includes("open")).map(({ id }) => id);
    t.diagnostic(`${open.length} of ${corrections.length} are open: ${open.join(", ")}`);
  });

  test("every test that is named exists", () => {
    const missing = testsOf(corrections).filter(([, path, name]) => !hasTest(path, name));
    assert.deepEqual(missing, []);
  });
});
