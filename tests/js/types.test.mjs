// The types of the package, as the SDKs see them. What they are is kept in tests/api.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");

test("a LandfallTransport is what each SDK takes as a transport, and results have types: no cast is needed", () => {
  const { status, stdout } = spawnSync(process.execPath, [tsc, "-p", join(here, "types")], {
    encoding: "utf8",
  });
  assert.equal(status, 0, stdout);
});
