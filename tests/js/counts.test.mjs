// How many tests a suite ran, read from what each runner prints.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cargoCounts, checkCounts, fuzzCounts, judge, nodeCounts, report } from "../../www/build/counts.mjs";

const CARGO = `
     Running tests/proto/main.rs (target/debug/deps/proto-1)
test result: \x1b[32mok\x1b[0m. 41 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.02s
     Running tests/web/main.rs (target/debug/deps/web-1)
test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.02s
`;
const NODE = `
ℹ pass 1
ℹ fail 1
✔ a test that ran another runner (1ms)
ℹ tests 9
ℹ suites 1
ℹ pass 4
ℹ fail 1
ℹ cancelled 1
ℹ skipped 2
ℹ todo 1
`;

describe("what a suite counts for", () => {
  test("cargo: the sum over its binaries", () => {
    assert.deepEqual(cargoCounts(CARGO), { passed: 44, failed: 2, skipped: 1 });
  });

  test("node: the last summary; a cancelled test failed, a test to be written is skipped", () => {
    assert.deepEqual(nodeCounts(NODE), { passed: 4, failed: 2, skipped: 3 });
  });

  test("fuzz: a line per target", () => {
    const output = "thread panicked\nfuzz sse: ok. Done 9 runs in 10 second(s)\nfuzz client: FAILED\n";
    assert.deepEqual(fuzzCounts(output), { passed: 1, failed: 1, skipped: 0 });
  });

  test("a check is one test", () => {
    assert.deepEqual(checkCounts("", true), { passed: 1, failed: 0, skipped: 0 });
    assert.deepEqual(checkCounts("", false), { passed: 0, failed: 1, skipped: 0 });
  });

  test("a runner that ran no test and was content is a failure", () => {
    const counts = cargoCounts("no tests to run!\n");
    assert.deepEqual(judge(counts, { ok: true, strict: false }), {
      ...{ passed: 0, failed: 1, skipped: 0 },
      problem: "ran no test",
    });
  });

  test("a runner that broke after its tests passed is a failure", () => {
    assert.equal(judge({ passed: 5, failed: 0, skipped: 0 }, { ok: false, strict: false }).failed, 1);
    assert.equal(judge({ passed: 5, failed: 2, skipped: 0 }, { ok: false, strict: false }).failed, 2);
  });

  test("a skip is a failure only where nothing may be skipped", () => {
    const counts = { passed: 5, failed: 0, skipped: 2 };
    assert.deepEqual(judge(counts, { ok: true, strict: false }), counts);
    assert.equal(judge(counts, { ok: true, strict: true }).failed, 2);
  });

  test("the report ends with the totals alone on a line", () => {
    const results = [
      { name: "one", counts: { passed: 10, failed: 0, skipped: 0 }, seconds: 1 },
      {
        name: "another",
        counts: { passed: 2, failed: 1, skipped: 3, problem: "ran no test" },
        seconds: 12.34,
      },
    ];
    assert.deepEqual(report(results).split("\n"), [
      "suite    passed  failed  skipped  seconds",
      "one          10       0        0      1.0",
      "another       2       1        3     12.3  ran no test",
      "",
      "12 passed, 1 failed, 3 skipped",
    ]);
  });
});
