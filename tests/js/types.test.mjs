import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");

// Decided, and not there before the part that honours them.
const later = ["Store"];

test("the package's types equal the decided ones both ways", () => {
  const { status, stdout } = spawnSync(process.execPath, [tsc, "-p", join(here, "types")], {
    encoding: "utf8",
  });
  assert.equal(status, 0, stdout);
});

test("every decided name is compared, or listed as coming later", () => {
  const declared = readFileSync(join(here, "../fixtures/api.d.ts"), "utf8");
  const compared = readFileSync(join(here, "types/equal.ts"), "utf8");
  const names = [...declared.matchAll(/^export (?:type|interface|class|function) (\w+)/gm)].map(
    ([, name]) => name,
  );
  assert.ok(names.length > 30);
  const missing = names.filter((name) => !new RegExp(`^  ${name}: `, "m").test(compared));
  assert.deepEqual(missing.sort(), later.sort());
});

test("a LandfallTransport is what each SDK takes as a transport, by its own types", () => {
  const { status, stdout } = spawnSync(process.execPath, [tsc, "-p", join(here, "types/sdks")], {
    encoding: "utf8",
  });
  assert.equal(status, 0, stdout);
});
