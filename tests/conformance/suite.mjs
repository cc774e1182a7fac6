// Runs the official conformance suite against client.mjs or stand-alone.mjs, and reads what it wrote.
import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { node22 } from "../../www/build/node24.mjs";

export const FINISHED = "all went as it should";

/**
 * Together they are every scenario that the suite has: without a version it runs those of the two revisions again, and
 * only the extensions and what went before them besides.
 */
export const RUNS = [
  { name: "2025-11-25", options: ["--suite", "all", "--spec-version", "2025-11-25"] },
  { name: "2026-07-28", options: ["--suite", "all", "--spec-version", "2026-07-28"] },
  { name: "extensions", options: ["--suite", "extensions"] },
  { name: "2025-03-26", options: ["--suite", "backcompat"] },
];

/** The subject that is no transport: landfall's own client. */
export const STAND_ALONE = "stand-alone";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const SUITE = "node_modules/@modelcontextprotocol/conformance/dist/index.js";
/** All clients of a run start at once: on a small machine each of them takes long. */
const CLIENT_TIMEOUT_MS = 90_000;

/**
 * `subject` is the name of a transport, or STAND_ALONE. A row per scenario: `{ scenario, passed, problems }`, with the names of the checks it passed. The runs' timing suffers when many clients share few cores, so
 * a scenario with problems has a second chance, alone.
 */
export async function runScenarios({ options }, subject) {
  const rows = await invoke(options, subject);
  for (const [i, { scenario, problems }] of rows.entries()) {
    if (problems.length > 0) [rows[i]] = await invoke(alone(options, scenario), subject);
  }
  return rows;
}

const alone = (options, scenario) => ["--scenario", scenario, ...options.slice(2)];

async function invoke(options, subject) {
  const client = subject === STAND_ALONE ? "stand-alone.mjs" : "client.mjs";
  const output = await mkdtemp(join(tmpdir(), "conformance-"));
  try {
    await run(
      // The client under test runs on the Node that this runs on.
      node22(),
      [
        SUITE,
        "client",
        ...["--command", `node tests/conformance/${client}`],
        ...["--timeout", String(CLIENT_TIMEOUT_MS), "--output-dir", output],
        ...options,
      ],
      { CONFORMANCE_TRANSPORT: subject },
    );
    return await readRows(output);
  } finally {
    await rm(output, { recursive: true });
  }
}

/** What the suite prints and its exit code say no more than the files it leaves. */
function run(program, args, env) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: ROOT, env: { ...process.env, ...env }, stdio: "ignore" });
    child.once("error", reject);
    child.once("exit", resolve);
  });
}

async function readRows(output) {
  const files = await readdir(output, { recursive: true });
  const checks = files.filter((file) => file.endsWith("checks.json")).sort();
  return Promise.all(checks.map((file) => readRow(output, join(output, dirname(file)))));
}

async function readRow(output, folder) {
  const read = (file) => readFile(join(folder, file), "utf8");
  const checks = JSON.parse(await read("checks.json"));
  const finished = (await read("stdout.txt")).includes(FINISHED);
  const problems = checks
    .filter(({ status }) => status === "FAILURE" || status === "WARNING")
    .map(({ name, errorMessage, description }) => `${name}: ${errorMessage ?? description}`);
  if (!finished) problems.push(`the client did not finish: ${lastWords(await read("stderr.txt"))}`);
  return {
    // The folder is named after the scenario and the time.
    scenario: relative(output, folder).replace(/-\d{4}-\d\d-\d\dT.*$/, ""),
    passed: [...new Set(checks.filter(({ status }) => status === "SUCCESS").map(({ name }) => name))].sort(),
    problems,
  };
}

const lastWords = (stderr) => stderr.match(/^\w*Error.*$/m)?.[0] ?? "it was silent";
