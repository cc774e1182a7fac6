// fuzz.mjs [SECONDS]: the targets of tests/fuzz one after the other, SECONDS each. What they find grows in target/fuzz,
// where the next run goes on. Without SECONDS a smoke run: 10 s each, from the committed inputs alone.
// Exit 1 on a crash, or on an input that takes 5 s.
import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { createInterface } from "node:readline";

const FOLDER = "tests/fuzz";
const SMOKE_SECONDS = 10;
const OPTIONS = ["-s", "none", "--fuzz-dir", FOLDER];
const LAST_LINES = 60;

const given = process.argv[2];
const seconds = Number(given ?? SMOKE_SECONDS);
if (!Number.isInteger(seconds) || seconds < 1) {
  console.error(`fuzz: ${given} is no number of seconds`);
  process.exit(2);
}
const targets = readdirSync(`${FOLDER}/fuzz_targets`).map((name) => name.replace(/\.rs$/, ""));

/** Runs cargo-fuzz. RUSTC_BOOTSTRAP lets a stable compiler take the flags of the coverage. */
function cargoFuzz(args, stdio) {
  const env = { ...process.env, RUSTC_BOOTSTRAP: "1", RUST_BACKTRACE: "0", CARGO_TERM_COLOR: "never" };
  return new Promise((resolve) => {
    const child = spawn("cargo", ["fuzz", ...args], { env, stdio });
    const lines = [];
    if (child.stderr)
      createInterface({ input: child.stderr }).on("line", (line) => {
        lines.push(line);
        if (lines.length > LAST_LINES) lines.shift();
      });
    child.once("error", (error) => resolve({ ok: false, lines: [String(error)] }));
    child.once("close", (code) => resolve({ ok: code === 0, lines }));
  });
}

async function run(target) {
  const found = `target/fuzz/${given ? target : `smoke-${target}`}`;
  if (!given) rmSync(found, { recursive: true, force: true });
  mkdirSync(found, { recursive: true });
  const { ok, lines } = await cargoFuzz(
    [
      ...["run", ...OPTIONS, target, found, `${FOLDER}/corpus/${target}`, "--"],
      ...[`-max_total_time=${seconds}`, "-timeout=5", `-artifact_prefix=target/fuzz/${target}-`],
    ],
    ["ignore", "ignore", "pipe"],
  );
  const runs = lines.findLast((line) => line.startsWith("Done "));
  if (!ok || runs === undefined) console.log(lines.join("\n"));
  console.log(`fuzz ${target}: ${ok && runs ? `ok. ${runs}` : "FAILED"}`);
  return ok && runs !== undefined;
}

const built = await cargoFuzz(["build", ...OPTIONS], "inherit");
let failed = built.ok ? 0 : 1;
for (const target of built.ok ? targets : []) {
  if (!(await run(target))) failed += 1;
}
process.exitCode = failed > 0 ? 1 : 0;
