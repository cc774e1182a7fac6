// The report of the public types: what it finds, and what it leaves out.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { against, declarationsOf, entriesOf, reportsOf } from "../../www/build/api.mjs";

const report = (...parts) => `## Report\n\n\`\`\`ts\n\n${parts.join("\n\n")}\n\n\`\`\`\n`;

test("the entries are those of a manifest with types, the root entry first", () => {
  const exports = {
    ".": { types: "./a.d.ts", default: "./a.js" },
    "./more": { types: "./b.d.ts", default: "./b.js" },
    "./x.wasm": { types: "./x.d.wasm.ts", default: "./x.wasm" },
    "./package.json": "./package.json",
  };
  assert.deepEqual(entriesOf({ exports }), [
    ["index", "./a.d.ts"],
    ["more", "./b.d.ts"],
  ]);
});

test("an entry's report says what it has beside the root entry, and in place of what", () => {
  const root = report("export type A = 1;", "export type B = 2;");
  assert.deepEqual(declarationsOf(root), ["export type A = 1;", "export type B = 2;"]);
  const other = against(root, "more", report("export type A = 1;", "export type B = 3;"));
  assert.match(
    other,
    /and:\n\n```ts\nexport type B = 3;\n```\n\nIn place .*:\n\n```ts\nexport type B = 2;\n```\n$/,
  );
  assert.match(against(root, "same", root), /Those of `landfall`\.\n$/);
});

test("a public type that is not exported, or has no doc comment, is a fault", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "landfall-types-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const exports = { ".": { types: "./entry/index.d.ts" } };
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "p", version: "1.0.0", exports }));
  mkdirSync(join(folder, "entry"));
  writeFileSync(join(folder, "entry/hidden.d.ts"), "/** Hidden. */\nexport interface Hidden {}\n");
  writeFileSync(
    join(folder, "entry/index.d.ts"),
    `import type { Hidden } from "./hidden.js";
/** Well documented. */
export interface Good {
    /** A member. */
    hidden: Hidden;
    bare: number;
}
export type Bare = 1;
`,
  );
  const { reports, faults } = reportsOf(folder);
  assert.match(reports.get("index"), /^export interface Good \{$/m);
  const found = faults.map((fault) => fault.replace(/ .*\(/, " (")).sort();
  assert.deepEqual(found, [
    "entry/index.d.ts:5 (ae-forgotten-export)",
    "entry/index.d.ts:6 (ae-undocumented)",
    "entry/index.d.ts:8 (ae-undocumented)",
  ]);
});
