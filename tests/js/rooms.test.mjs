// The rooms of src/ts: each may import those below it, and nothing else; biome.json says so, and here it is held to it.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const ladder = ["entry", "sdk", "session", "call", "options", "core", "http", "base", "api"];

/** What the lint says of a house with these files: `[rule, file]`. */
function lint(t, files) {
  const house = mkdtempSync(join(tmpdir(), "landfall-rooms-"));
  t.after(() => rmSync(house, { recursive: true }));
  copyFileSync(join(root, "biome.json"), join(house, "biome.json"));
  for (const [name, text] of Object.entries(files)) {
    const path = join(house, "src/ts", name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  const biome = join(root, "node_modules/.bin/biome");
  const { stdout } = spawnSync(biome, ["lint", "--reporter=github", "--max-diagnostics=none", "src/ts"], {
    cwd: house,
    encoding: "utf8",
  });
  const found = stdout.matchAll(/title=lint\/\w+\/(\w+),file=(?:.*\/)?src\/ts\/([^,]+),/g);
  return [...found].map(([, rule, file]) => [rule, file]).sort();
}

test("every folder of src/ts is a room of the ladder", () => {
  const entries = readdirSync(join(root, "src/ts"), { withFileTypes: true });
  assert.deepEqual(entries.map((entry) => entry.name).sort(), [...ladder].sort());
  assert.ok(entries.every((entry) => entry.isDirectory()));
});

test("an import that runs up is an error, also one of types alone, and one that runs down is none", (t) => {
  const files = {};
  const expected = [];
  for (const [floor, from] of ladder.entries()) {
    for (const [other, to] of ladder.entries()) {
      if (from === to) continue;
      for (const kind of ["import type { X }", "import { x }", "export type { X }"]) {
        const name = `${from}/${kind.replaceAll(/[^a-z]+/g, "-")}${to}.ts`;
        const use = kind.startsWith("import type") ? "\nexport type Y = X;" : "\nexport const y = x;";
        files[name] = `${kind} from "../${to}/some.js";${kind.startsWith("export") ? "" : use}\n`;
        if (other < floor) expected.push(["noRestrictedImports", name]);
      }
    }
  }
  assert.deepEqual(lint(t, files), expected.sort());
});

test("a circle is an error, also one of types alone", (t) => {
  const found = lint(t, {
    "base/one.ts": 'import type { B } from "./two.js";\nexport type A = B | 1;\n',
    "base/two.ts": 'import type { A } from "./one.js";\nexport type B = A | 2;\n',
  });
  assert.deepEqual(found, [
    ["noImportCycles", "base/one.ts"],
    ["noImportCycles", "base/two.ts"],
  ]);
});
