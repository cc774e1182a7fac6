// NOTICE: the crates whose code is in the module.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { compiledIn, noticeOf } from "../../www/build/notice.mjs";

const crate = (name, more = {}) => ({
  ...{ id: name, name, version: "1.0.0", license: "MIT", source: "a registry", targets: [{ kind: ["lib"] }] },
  ...more,
});
const dep = (pkg, kind = null) => ({ pkg, dep_kinds: [{ kind }] });
const metadata = {
  packages: [
    crate("ours", { source: null }),
    ...["b", "a", "of-tests", "of-build", "below-macro"].map((name) => crate(name)),
    crate("macro", { targets: [{ kind: ["proc-macro"] }] }),
  ],
  resolve: {
    nodes: [
      { id: "ours", deps: [dep("b"), dep("macro"), dep("of-tests", "dev"), dep("of-build", "build")] },
      { id: "b", deps: [dep("a")] },
      { id: "a", deps: [dep("b")] },
      { id: "macro", deps: [dep("below-macro")] },
      ...["of-tests", "of-build", "below-macro"].map((id) => ({ id, deps: [] })),
    ],
  },
};

test("what is compiled in is neither of tests nor of the build", () => {
  assert.deepEqual(
    compiledIn(metadata, "ours").map(({ name }) => name),
    ["a", "b"],
  );
  assert.throws(() => compiledIn(metadata, "theirs"), /no crate theirs/);
});

test("each crate is named with its licence, and each text is there once", () => {
  const text = noticeOf(compiledIn(metadata, "ours"), () => ["Permission is granted"]);
  assert.match(text, /^ {2}a 1\.0\.0: MIT\n {2}b 1\.0\.0: MIT$/m);
  assert.equal(text.split("Permission is granted").length, 2);
  assert.match(text, /^---- a, b ----$/m);
  assert.throws(() => noticeOf([crate("c", { license: null, license_file: null })], () => []), /no licence/);
});

test("the package's NOTICE has the texts of what its module is made of", () => {
  const text = readFileSync(new URL("../../target/npm/NOTICE", import.meta.url), "utf8");
  for (const name of ["wasm-bindgen", "serde", "js-sys", "futures-util"])
    assert.match(text, new RegExp(`^ {2}${name} \\d`, "m"));
  assert.match(text, /Permission is hereby granted/);
  assert.doesNotMatch(text, /^ {2}(?:syn|proptest|serde_derive) /m);
});
