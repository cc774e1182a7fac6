// Small promises about texts and thrown things that nothing else would miss: each test was written after a deliberate break
// of what it states had passed all others (tests/mutants).
import assert from "node:assert/strict";
import { test } from "node:test";
import { sizeOf } from "../../target/modules/base/json.js";
import { line, ServerText } from "../../target/modules/base/server-text.js";
import { harmless, textOf } from "../../target/modules/base/thrown.js";

test("the size of a value is about that of its text, names of members too", () => {
  for (const value of ["text", [1, 2, 3], { ["k".repeat(1_000)]: "v".repeat(1_000), b: [{ c: null }] }]) {
    const { length } = JSON.stringify(value);
    assert.ok(Math.abs(sizeOf(value) - length) <= 20, `${sizeOf(value)} of ${length}`);
  }
});

test("a secret has eight characters at least, for shorter ones are in many a text by chance", () => {
  const text = new ServerText();
  text.learn("x-key", "seven-7");
  text.learn("x-key", "eight--8");
  assert.equal(text.redact("seven-7 eight--8"), "seven-7 [redacted]");
});

test("a secret that another one begins with is taken out as a whole", () => {
  const text = new ServerText();
  for (const secret of ["secret-of-mine", "secret-of-mine-and-more"]) text.learn("x-key", secret);
  assert.equal(text.redact("a secret-of-mine-and-more b"), "a [redacted] b");
});

test("a text of the server's is one line of 200 characters, none of them cut in two", () => {
  assert.equal(line("a\u2028b\u2029c\u0085d"), "a b c d");
  assert.equal(new ServerText().fit("\u{1f600}".repeat(300)), "\u{1f600}".repeat(200));
});

test("what was thrown has a text, and an error without a message is called by its name", () => {
  assert.deepEqual(
    [textOf(new TypeError("")), textOf("gone"), textOf(undefined)],
    [...["TypeError", "gone", "undefined"]],
  );
});

test("what can be looked at stays as it is, and what throws at any look is replaced", () => {
  for (const thrown of [null, undefined, 5, Symbol("s"), new Error("e"), {}])
    assert.equal(harmless(thrown), thrown);
  const refuse = () => {
    throw new Error("do not look");
  };
  const hostile = [
    new Proxy({}, { getPrototypeOf: refuse }),
    new Proxy({}, { get: refuse }),
    { cause: Object.defineProperty({}, "code", { get: refuse }) },
    Object.defineProperty({}, "code", { get: refuse }),
  ];
  for (const thrown of hostile) {
    const given = harmless(thrown);
    assert.ok(given !== thrown && given instanceof Error);
  }
});
