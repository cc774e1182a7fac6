// mutants.mjs [--check] [WORD...]: makes each recorded break of tests/mutants (or those whose file or text has a WORD)
// alone in a copy of the tree, and tells whether its test notices. Exit 0 only if every one is noticed.
// With --check it only tells which ones no longer apply.
import { execFileSync, spawn } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { constants, setPriority, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const LISTS = join(root, "tests/mutants");
// Not in `target`: biome refuses a tree within a tree.
const TREE = join(tmpdir(), "landfall-mutants", root.replaceAll(/\W+/g, "-"), "tree");
const MOST_MS = 5 * 60_000;

/** How each half is built and tested; a list's `test` is what follows the command. */
const HALVES = [
  {
    of: ["src/proto/", "src/wire/"],
    build: (test) => [["cargo", "test", "--quiet", "--no-run", test.split(" ")[0], ...target(test)]],
    test: (test) => ["cargo", "test", "--quiet", ...test.split(" ")],
  },
  {
    of: ["src/ts/"],
    build: () => [["node", "www/build/stage.mjs", "target/modules", "target/npm"]],
    test: (test) => ["node", "--test", ...test.split(" ")],
  },
];
const target = (test) => (test.startsWith("--test ") ? [test.split(" ")[1]] : []);

/** Every break that is recorded: `file`, what stands there (`from`, once), what `to`, and the `test` that notices. */
export async function recorded() {
  const names = readdirSync(LISTS).filter((name) => name.endsWith(".mjs"));
  const lists = names.sort().map((name) => import(pathToFileURL(join(LISTS, name)).href));
  return (await Promise.all(lists)).flatMap((list) => list.default);
}

/** The text with the break in it; `undefined` where it no longer applies. */
export function broken(text, { from, to }) {
  const [before, after, ...more] = text.split(from);
  return after === undefined || more.length > 0 || from === to ? undefined : before + to + after;
}

/** Those that no longer apply, or that no half tests. */
export function stale(mutants, read = (file) => readFileSync(join(root, file), "utf8")) {
  const applies = ({ file, ...mutant }) =>
    half(file) !== undefined && existsSync(join(root, file)) && broken(read(file), mutant) !== undefined;
  return mutants.filter((mutant) => !applies(mutant) || !mutant.test);
}

const half = (file) => HALVES.find(({ of }) => of.some((folder) => file.startsWith(folder)));

/** What git knows or would take, and the built package: with its own folder for what cargo makes of it. */
function copyTree() {
  const list = execFileSync("git", ["ls-files", "-z", "-co", "--exclude-standard"], { cwd: root });
  for (const name of list.toString().split("\0").filter(Boolean)) {
    if (existsSync(join(root, name))) put(name, readFileSync(join(root, name)));
  }
  for (const built of ["target/modules", "target/npm"])
    if (existsSync(join(root, built))) cpSync(join(root, built), join(TREE, built), { recursive: true });
  if (!existsSync(join(TREE, "node_modules")))
    symlinkSync(join(root, "node_modules"), join(TREE, "node_modules"));
}

/** Writes a file of the copy, unless it is the same: cargo goes by times. */
function put(name, bytes) {
  const path = join(TREE, name);
  if (existsSync(path) && readFileSync(path).equals(Buffer.from(bytes))) return;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, bytes);
}

/** Runs a command in the copy, in a process group of its own: some breaks never end. */
function run([program, ...args]) {
  return new Promise((resolve) => {
    const env = { ...process.env, CARGO_PROFILE_TEST_DEBUG: "0", CARGO_TARGET_DIR: join(TREE, "../target") };
    const child = spawn(program, args, {
      cwd: TREE,
      env,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const chunks = [];
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => chunks.push(chunk));
    const timer = setTimeout(() => process.kill(-child.pid, "SIGKILL"), MOST_MS);
    child.once("error", (error) => chunks.push(Buffer.from(String(error))));
    child.once("close", (code) => {
      clearTimeout(timer);
      resolve({ ok: code === 0, output: Buffer.concat(chunks).toString() });
    });
  });
}

/** Builds what the test needs, and runs it: `passes`, `fails`, or `does not build`; and what was said. */
async function judge({ file, test }) {
  const { build, test: command } = half(file);
  for (const step of build(test)) {
    const { ok, output } = await run(step);
    if (!ok) return { verdict: "does not build", output };
  }
  const { ok, output } = await run(command(test));
  return { verdict: ok ? "passes" : "fails", output };
}

/** The tests that noticed, the first few. */
function noticed(output) {
  const rust = [...output.matchAll(/^ {4}([\w:]+::[\w:]+)$/gm)].map(([, name]) => name);
  const node = [...output.matchAll(/^\s*(?:not ok \d+ - |✖ )(.+?)(?: \([\d.]+ms\))?$/gm)].map(
    ([, name]) => name,
  );
  const names = [...new Set([...rust, ...node])];
  return names.length > 0 ? `by ${names.slice(0, 3).join(", ")}${names.length > 3 ? ", ..." : ""}` : "";
}

const VERDICTS = { passes: "SURVIVED", fails: "noticed", "does not build": "DOES NOT BUILD" };

async function judgeAll(mutants) {
  const counts = new Map();
  const unbroken = new Map();
  for (const [place, mutant] of mutants.entries()) {
    const { file, from, to, test } = mutant;
    // A test that fails without a break notices nothing.
    if (!unbroken.has(test)) {
      const { verdict, output } = await judge(mutant);
      if (verdict !== "passes") console.log(`${test} ${verdict} without a break:\n${output}`);
      unbroken.set(test, verdict === "passes");
    }
    const text = readFileSync(join(root, file), "utf8");
    put(file, broken(text, mutant));
    const { verdict, output } = await judge(mutant);
    put(file, text);
    const told = unbroken.get(test) ? VERDICTS[verdict] : "NOT JUDGED";
    counts.set(told, (counts.get(told) ?? 0) + 1);
    const line = `${place + 1}/${mutants.length} ${told}: ${file}: ${JSON.stringify(from)} -> ${JSON.stringify(to)}`;
    console.log(`${line} (${test}) ${told === "noticed" ? noticed(output) : ""}`);
    if (told === "DOES NOT BUILD") console.log(output);
  }
  return counts;
}

async function main() {
  const words = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
  const all = await recorded();
  const old = stale(all);
  for (const { file, from } of old) console.log(`NO LONGER APPLIES: ${file}: ${JSON.stringify(from)}`);
  if (process.argv.includes("--check")) {
    console.log(`${all.length} breaks, ${old.length} no longer apply`);
    process.exitCode = old.length > 0 ? 1 : 0;
    return;
  }
  const wanted = ({ file, from }) =>
    words.length === 0 || words.some((word) => file.includes(word) || from.includes(word));
  setPriority(constants.priority.PRIORITY_LOW);
  copyTree();
  const counts = await judgeAll(all.filter((mutant) => wanted(mutant) && !old.includes(mutant)));
  console.log([...counts].map(([told, count]) => `${count} ${told}`).join(", "));
  process.exitCode = old.length === 0 && [...counts.keys()].every((told) => told === "noticed") ? 0 : 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
