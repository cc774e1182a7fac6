// What TypeScript, and the tools that judge packages, make of the packed package.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { installed } from "./tarball.mjs";
import { bin, run } from "./tools.mjs";

let package_;
before(async () => {
  package_ = await installed();
});
after(() => package_?.remove());

describe("a strict TypeScript consumer compiles", { concurrency: 2 }, () => {
  const ways = { bundler: "esnext", node16: "node16", nodenext: "nodenext" };
  for (const [resolution, module] of Object.entries(ways)) {
    test(`under moduleResolution ${resolution}`, async () => {
      const folder = await package_.project();
      const strict = ["--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--noEmit"];
      const where = ["--module", module, "--moduleResolution", resolution, "--target", "es2022"];
      const lib = ["--lib", "es2022,dom,dom.asynciterable", "--types", ""];
      await run([bin("tsc"), ...strict, ...where, ...lib, "typed.ts"], folder);
    });
  }
});

test("publint finds nothing to say, not even a suggestion", async () => {
  const told = await run([bin("publint"), "--strict", package_.tarball], package_.folder);
  assert.match(told, /All good!/);
});

test("attw finds types for every entry, as ES modules", async () => {
  const told = await run(
    [bin("attw"), "--profile", "esm-only", "--format", "json", package_.tarball],
    package_.folder,
  );
  const { analysis, problems } = JSON.parse(told);
  assert.ok(Object.keys(analysis.entrypoints).length >= 7);
  const ignored = ["node10", "node16-cjs"];
  const left = Object.values(problems)
    .flat()
    .filter(({ resolutionKind }) => !ignored.includes(resolutionKind));
  assert.deepEqual(left, []);
});
