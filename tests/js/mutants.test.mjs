// tests/mutants: every recorded break still applies, so that `make mutants` judges what is there.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { broken, recorded, stale } from "../../www/build/mutants.mjs";

const root = new URL("../../", import.meta.url);
const mutants = await recorded();

test("every recorded break applies to the sources as they are", () => {
  assert.deepEqual(
    stale(mutants).map(({ file, from }) => `${file}: ${from}`),
    [],
  );
});

test("no break is recorded twice, and each names a test that is there", () => {
  const keys = mutants.map(({ file, from, to }) => `${file}: ${from} -> ${to}`);
  assert.deepEqual(
    keys.filter((key, place) => keys.indexOf(key) !== place),
    [],
  );
  const missing = mutants.filter(({ file, test }) => !hasTest(file, test)).map(({ test }) => test);
  assert.deepEqual([...new Set(missing)], []);
});

/** Whether what the test's words name is a file, or a module of the tests in Rust. */
function hasTest(file, test) {
  const words = test.split(" ").filter((word) => !word.startsWith("--test-name"));
  if (file.startsWith("src/ts/")) return words.every((word) => existsSync(new URL(word, root)));
  const isLib = words[0] === "--lib";
  const [folders, names] = isLib ? [["src", "src/wire"], words.slice(1)] : [["tests/proto"], words.slice(2)];
  return names.every((name) => {
    const path = name.replaceAll("::", "/");
    const files = folders.flatMap((folder) => [`${folder}/${path}.rs`, `${folder}/${path}/mod.rs`]);
    return files.some((file) => existsSync(new URL(file, root)));
  });
}

test("a break applies where its text stands once, and changes something", () => {
  assert.equal(broken("a b c", { from: "b", to: "d" }), "a d c");
  assert.equal(broken("a b b", { from: "b", to: "d" }), undefined);
  assert.equal(broken("a c", { from: "b", to: "d" }), undefined);
  assert.equal(broken("a b", { from: "b", to: "b" }), undefined);
  const known = { file: "src/proto/backoff.rs", from: "impl Backoff", to: "", test: "--lib backoff" };
  const read = () => "impl Backoff";
  assert.deepEqual(stale([known], read), []);
  for (const change of [{ from: "impl Forwardoff" }, { file: "Makefile" }, { file: "src/proto/none.rs" }]) {
    assert.equal(stale([{ ...known, ...change }], read).length, 1);
  }
  assert.equal(stale([{ ...known, test: "" }], read).length, 1);
});
