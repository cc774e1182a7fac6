// Runs the official conformance suite's server scenarios against an address, and reads what it wrote.
import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { node22 } from "../../../www/build/node24.mjs";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const SUITE = "node_modules/@modelcontextprotocol/conformance/dist/index.js";
const REVISION = "2025-11-25";
/** It takes some seconds; what hangs is ended, and what it did not come to is missing. */
const MOST_MS = 60_000;

/** By scenario: the checks that passed and those that did not, by name. */
export async function runServerScenarios(url) {
  const output = await mkdtemp(join(tmpdir(), "conformance-"));
  try {
    await run(["server", "--url", url, "--requirements", REVISION, "--output-dir", output]);
    const files = await readdir(output, { recursive: true });
    const folders = files.filter((file) => file.endsWith("checks.json")).map(dirname);
    return new Map(await Promise.all(folders.map((folder) => read(output, folder))));
  } finally {
    await rm(output, { recursive: true });
  }
}

/** What the suite prints and its exit code say no more than the files that it leaves. */
function run(args) {
  return new Promise((resolve, reject) => {
    const child = spawn(node22(), [SUITE, ...args], { cwd: ROOT, stdio: "ignore", timeout: MOST_MS });
    child.once("error", reject);
    child.once("exit", resolve);
  });
}

async function read(output, folder) {
  const checks = JSON.parse(await readFile(join(output, folder, "checks.json"), "utf8"));
  const named = (isWanted) => checks.filter(({ status }) => isWanted(status));
  // The folder is named after the scenario and the time.
  const scenario = basename(folder)
    .replace(/^server-(?=\w)/, "")
    .replace(/-\d{4}-\d\d-\d\dT.*$/, "");
  return [
    scenario,
    {
      passed: [...new Set(named((status) => status === "SUCCESS").map(({ name }) => name))].sort(),
      problems: named((status) => status === "FAILURE" || status === "WARNING").map(
        ({ name, errorMessage, description }) => `${name}: ${errorMessage ?? description}`,
      ),
    },
  ];
}
