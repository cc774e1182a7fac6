// tests/field_reports.md: every report once, with tests that exist or the part that will have them.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";

const root = new URL("../../", import.meta.url);
const read = (path) => readFileSync(new URL(path, root), "utf8");

/** How many reports each group has. */
const GROUPS = [12, 13, 15, 9, 17, 12, 14, 10, 11, 9, 12, 3];
const expected = GROUPS.flatMap((count, group) =>
  Array.from({ length: count }, (_, report) => `A${group + 1}.${report + 1}`),
);

/** A line `- **A1.1** kind`, and the lines `  - ...` below it. */
const reports = [];
for (const line of read("tests/field_reports.md").split("\n")) {
  const id = /^- \*\*(A\d+\.\d+)\*\* \S/.exec(line)?.[1];
  if (id) reports.push({ id, items: [] });
  else if (line.startsWith("  - ")) reports.at(-1).items.push(line.slice(4));
}

/** Whether the file has that test: a Rust function marked as one, or a title. */
function hasTest(path, name) {
  if (!existsSync(new URL(path, root))) return false;
  const text = read(path);
  if (!path.endsWith(".rs")) return text.includes(`test(${JSON.stringify(name)}`);
  return new RegExp(`#\\[(test|wasm_bindgen_test)\\]\\s+(async )?fn ${name}\\(`).test(text);
}

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
    const named = reports.flatMap(({ id, items }) =>
      items.map((item) => [id, ...(/^`(\S+) ([^`]+)`$/.exec(item) ?? []).slice(1)]),
    );
    const tests = named.filter(([, path]) => path !== undefined);
    const missing = tests.filter(([, path, name]) => !hasTest(path, name));
    assert.deepEqual(missing, []);
    assert.ok(tests.length > 150, `${tests.length} are named`);
  });
});
