// test.mjs [--quick] [NAME...]: runs the suites of suites.mjs (or those whose name contains a NAME) one after the
// other, and ends with a table and a line of totals. Exit 0 only if nothing failed; with CI=true a skip is a failure.
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { judge, report } from "./counts.mjs";
import { suites } from "./suites.mjs";

// The wasm tests have the server's address compiled in (a page has no environment): a fixed port saves a build.
const PORT = 8917;
const SUITE_TIMEOUT_MS = 15 * 60_000;
const strict = process.env.CI === "true";

function selected() {
  const names = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
  const quick = process.argv.includes("--quick");
  const known = suites();
  return known.filter((suite) => {
    if (names.length > 0) return names.some((name) => suite.name.includes(name));
    return !quick || suite.quick;
  });
}

function isFree(port) {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
  });
}

/** Starts the fault server; its first line tells where it listens. */
async function startServer() {
  const port = (await isFree(PORT)) ? PORT : 0;
  const child = spawn("node", ["tests/server/main.mjs", "--port", String(port)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = new Promise((resolve) => child.once("exit", resolve));
  const line = new Promise((resolve) => createInterface({ input: child.stdout }).once("line", resolve));
  const first = await Promise.race([line, exited.then(() => undefined)]);
  if (first === undefined) throw new Error("the fault server does not start");
  const kill = () => child.kill();
  process.once("exit", kill);
  child.stdout.resume();
  return {
    origin: new URL(JSON.parse(first).url).origin,
    async stop() {
      process.off("exit", kill);
      child.kill();
      await exited;
    },
  };
}

let running;

/** Runs a command in a process group of its own, so that what it started ends with it. */
function run([program, ...args], env) {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      detached: true,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const chunks = [];
    const copy = (from, to) =>
      from.on("data", (chunk) => {
        chunks.push(chunk);
        to.write(chunk);
      });
    copy(child.stdout, process.stdout);
    copy(child.stderr, process.stderr);
    const timer = setTimeout(() => {
      console.error(`${program}: ended after ${SUITE_TIMEOUT_MS / 60_000} minutes`);
      process.kill(-child.pid);
    }, SUITE_TIMEOUT_MS);
    running = child;
    child.once("error", (error) => console.error(`${program}: ${error.message}`));
    child.once("close", (code) => {
      clearTimeout(timer);
      running = undefined;
      resolve({ ok: code === 0, output: Buffer.concat(chunks).toString() });
    });
  });
}

async function runSuite(suite, server) {
  console.log(`\n=== ${suite.name}${suite.skip ? `: skipped, ${suite.skip}` : ""}`);
  if (suite.skip) {
    return { ...judge({ passed: 0, failed: 0, skipped: 1 }, { ok: true, strict }), problem: suite.skip };
  }
  const env = suite.server ? { LANDFALL_FAULT_SERVER: server.origin, ...suite.env } : suite.env;
  const { ok, output } = await run(suite.command, env);
  return judge(suite.count(output, ok), { ok, strict });
}

async function main() {
  const chosen = selected();
  const results = [];
  const server = chosen.some((suite) => suite.server && !suite.skip) ? await startServer() : undefined;
  try {
    for (const suite of chosen) {
      const started = performance.now();
      const counts = await runSuite(suite, server);
      results.push({ name: suite.name, counts, seconds: (performance.now() - started) / 1000 });
    }
  } finally {
    await server?.stop();
  }
  console.log(`\n${report(results)}`);
  process.exitCode = results.length > 0 && results.every(({ counts }) => counts.failed === 0) ? 0 : 1;
}

for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, () => {
    if (running?.pid) process.kill(-running.pid);
    process.exit(130);
  });
}
await main();
