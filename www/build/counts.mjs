// How many tests a suite ran, read from what its runner printed.

const none = { passed: 0, failed: 0, skipped: 0 };

// biome-ignore lint/suspicious/noControlCharactersInRegex: an escape is what colours begin with
const COLOUR = /\x1b\[[0-9;]*m/g;

/** `cargo test` and wasm-bindgen-test-runner: a line per test binary. */
export function cargoCounts(output) {
  const counts = { ...none };
  const lines = /^test result: \S+ (\d+) passed; (\d+) failed; (\d+) ignored/gm;
  for (const [, passed, failed, ignored] of output.replace(COLOUR, "").matchAll(lines)) {
    counts.passed += Number(passed);
    counts.failed += Number(failed);
    counts.skipped += Number(ignored);
  }
  return counts;
}

/** `node --test`: a summary at the end. Tests may print a summary of their own, so the last one counts. */
export function nodeCounts(output) {
  const last = {};
  const lines = /^(?:ℹ|#) (pass|fail|cancelled|skipped|todo) (\d+)$/gm;
  for (const [, what, count] of output.replace(COLOUR, "").matchAll(lines)) last[what] = Number(count);
  const { pass = 0, fail = 0, cancelled = 0, skipped = 0, todo = 0 } = last;
  return { passed: pass, failed: fail + cancelled, skipped: skipped + todo };
}

/** fuzz.mjs: a line per target. */
export function fuzzCounts(output) {
  const ends = [...output.matchAll(/^fuzz \w+: (ok|FAILED)/gm)];
  const passed = ends.filter(([, end]) => end === "ok").length;
  return { ...none, passed, failed: ends.length - passed };
}

/** A check that passes or not. */
export function checkCounts(_output, ok) {
  return { ...none, [ok ? "passed" : "failed"]: 1 };
}

/**
 * What a suite counts for: a runner that failed without naming a test, or that ran none and was content, is a
 * failure; where nothing may be skipped, so is each skipped test.
 */
export function judge(counts, { ok, strict }) {
  const judged = { ...counts };
  let problem;
  if (!ok && counts.failed === 0) problem = "ended with an error";
  if (ok && counts.passed + counts.failed + counts.skipped === 0) problem = "ran no test";
  if (problem) judged.failed += 1;
  if (strict && judged.skipped > 0) {
    problem ??= `${judged.skipped} skipped, and nothing may be here`;
    judged.failed += judged.skipped;
    judged.skipped = 0;
  }
  return problem ? { ...judged, problem } : judged;
}

/** The last lines: a table, then the totals alone on a line. */
export function report(results) {
  const rows = results.map(({ name, counts, seconds }) => [
    name,
    ...[counts.passed, counts.failed, counts.skipped, seconds.toFixed(1)].map(String),
    counts.problem ?? "",
  ]);
  const table = [["suite", "passed", "failed", "skipped", "seconds", ""], ...rows];
  const width = (column) => Math.max(...table.map((row) => row[column].length));
  const lines = table.map((row) => {
    const [name, ...numbers] = row
      .slice(0, 5)
      .map((cell, i) => (i === 0 ? cell.padEnd(width(0)) : cell.padStart(width(i))));
    return [name, ...numbers, row[5]].join("  ").trimEnd();
  });
  const total = (what) => results.reduce((sum, { counts }) => sum + counts[what], 0);
  return [
    ...lines,
    "",
    `${total("passed")} passed, ${total("failed")} failed, ${total("skipped")} skipped`,
  ].join("\n");
}
