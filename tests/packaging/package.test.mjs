// What is in the packed package.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { plainPaths } from "../../www/build/stage.mjs";
import { readmes } from "./support.mjs";
import { installed } from "./tarball.mjs";

describe("the packed package", () => {
  let package_;

  before(async () => {
    package_ = await installed();
  });
  after(() => package_?.remove());

  test("holds what its manifest and its modules name, and nothing else", async () => {
    const manifest = JSON.parse(await readFile(join(package_.folder, "package.json"), "utf8"));
    const entries = Object.values(manifest.exports).flatMap((entry) =>
      typeof entry === "string" ? [entry] : Object.values(entry),
    );
    const papers = ["package.json", "README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE", "NOTICE"];
    const plain = plainPaths(manifest).map(([name]) => name);
    assert.deepEqual(
      plain.filter((name) => name.endsWith(".js")),
      ["url.js", "slim.js", "v1.js", "v2.js"],
    );
    const named = await reachable(package_.folder, [...entries, ...plain, ...papers]);
    assert.deepEqual(package_.files, [...named].sort());
    const rooms = package_.files.filter((name) => name.endsWith(".d.ts")).map((name) => name.split("/")[0]);
    const plainTypes = plain.filter((name) => name.endsWith(".d.ts"));
    assert.deepEqual([...new Set(rooms)].sort(), ["api", "entry", "sdk", ...plainTypes].sort());
  });

  test("has the README's table of where it was run made from the cases of these tests", async () => {
    const { readme, today } = await readmes();
    assert.equal(readme, today, "node tests/packaging/support.mjs writes it");
  });

  test("is used in pages with a module of their own as the README says", async () => {
    const { readme } = await readmes();
    const [, snippet] = readme.match(/<!-- slim -->\n```js\n([\s\S]*?)```/) ?? [];
    const page = await readFile(new URL("consumer/page-slim.mjs", import.meta.url), "utf8");
    const lines = snippet.split("\n").filter(Boolean);
    assert.equal(lines.length, 2);
    for (const line of lines) assert.ok(page.includes(`${line}\n`), line);
  });

  test("has no dependencies", async () => {
    assert.deepEqual(await package_.packages(), ["", "node_modules/landfall"]);
  });
});

/** The files that these import, themselves included, with their maps. */
async function reachable(folder, entries) {
  const found = new Set();
  const waiting = entries.map((entry) => entry.replace(/^\.\//, ""));
  for (const name of waiting) {
    if (found.has(name)) continue;
    found.add(name);
    if (!/\.(?:js|d\.ts)$/.test(name)) continue;
    const text = await readFile(join(folder, name), "utf8");
    const [, map] = /^\/\/# sourceMappingURL=(\S+)$/m.exec(text) ?? [];
    if (map !== undefined) waiting.push(join(dirname(name), map));
    const imports = /(?:\bfrom|\bimport|new URL\()\s*["'](\.[^"']+)["']/gm;
    for (const [, from] of text.matchAll(imports)) {
      const target = join(dirname(name), from);
      waiting.push(name.endsWith(".d.ts") ? target.replace(/\.js$/, ".d.ts") : target);
    }
  }
  return found;
}
