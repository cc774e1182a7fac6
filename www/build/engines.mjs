// engines.mjs [NAME...]: the driver's cases in every engine but this Node (or those
// whose name contains a NAME). They are compiled once; variables of
// wasm-bindgen-test-runner pick the engine. One browser's kinds of scope run one after the other, browsers side by side.
import { spawn, spawnSync } from "node:child_process";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { steady } from "../../tests/support/steady.mjs";
import { cargoCounts, judge } from "./counts.mjs";
import { node24 } from "./node24.mjs";
import { onPath } from "./path.mjs";

const RUNNER = "wasm-bindgen-test-runner";
const DENO_SHIM = fileURLToPath(new URL("./deno", import.meta.url));
const LOG = `${process.env.LANDFALL_FAULT_SERVER}/control/log`;

// The runner's variable, and the class of the global object.
const SCOPES = [
  { kind: "window", use: "BROWSER", scope: "Window" },
  { kind: "dedicated worker", use: "DEDICATED_WORKER", scope: "DedicatedWorkerGlobalScope" },
  { kind: "shared worker", use: "SHARED_WORKER", scope: "SharedWorkerGlobalScope" },
  { kind: "service worker", use: "SERVICE_WORKER", scope: "ServiceWorkerGlobalScope" },
];

const BROWSERS = [
  {
    name: "Chromium",
    driver: "chromedriver",
    variable: "CHROMEDRIVER",
    agent: /Chrome\/\d/,
    inWindow: "browser",
  },
  {
    name: "Firefox",
    driver: "geckodriver",
    variable: "GECKODRIVER",
    agent: /Firefox\/\d/,
    inWindow: "browser",
  },
  {
    name: "WebKitGTK",
    driver: "WebKitWebDriver",
    variable: "SAFARIDRIVER",
    agent: /AppleWebKit\/\d(?!.*Chrome\/)/,
    // It opens another connection for a call after one in JSON mode: the repeats of tests/browser don't come about.
    inWindow: "web",
    // It has no headless mode.
    through: ["xvfb-run", "-a"],
  },
];

function inBrowser({ name, driver, variable, agent, inWindow, through = [] }) {
  const missing = [driver, ...through.slice(0, 1)].find((program) => !onPath(program));
  const drivers = Object.fromEntries(BROWSERS.map((each) => [each.variable, undefined]));
  return SCOPES.map(({ kind, use, scope }) => ({
    name: `${name}, ${kind}`,
    skip: missing && `no ${missing}`,
    binary: kind === "window" ? inWindow : "web",
    through,
    env: { ...drivers, [variable]: onPath(driver), [`WASM_BINDGEN_USE_${use}`]: "1" },
    tells: (log) => log.some((key) => key.startsWith(`engine ${scope} `) && agent.test(key)),
  }));
}

function outsideOfBrowsers() {
  const node = node24();
  const deno = onPath("deno");
  const before = (folder) => ({ PATH: `${folder}:${process.env.PATH}` });
  const run = (name, more) => ({ name, binary: "web", through: [], ...more });
  return [
    run("Node 24", {
      skip: node === process.execPath ? "it is this Node" : node === undefined ? "no Node 24" : undefined,
      env: before(dirname(node ?? "")),
      tells: (log) => log.some((key) => /^engine \w+ Node\.js\/24/.test(key)),
    }),
    run("Deno", {
      skip: deno ? undefined : "no Deno",
      env: { ...before(DENO_SHIM), LANDFALL_DENO: deno, WASM_BINDGEN_USE_DENO: "1" },
      tells: (log) => log.some((key) => /^engine \w+ Deno\/\d/.test(key)),
    }),
  ];
}

/** Compiles the cases: the path of each test binary by its name. */
function compile() {
  const tests = ["--test", "web", "--test", "browser"];
  const said = "--message-format=json-render-diagnostics";
  const args = ["test", "--no-run", "--target", "wasm32-unknown-unknown", said, ...tests];
  const { status, stdout } = spawnSync("cargo", args, {
    encoding: "utf8",
    maxBuffer: 64 << 20,
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (status !== 0) process.exit(1);
  const made = stdout
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  return Object.fromEntries(
    made.filter(({ executable }) => executable).map(({ target, executable }) => [target.name, executable]),
  );
}

/** Runs a program to its end; what it said is shown only if it failed. */
function run([program, ...args], env) {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const chunks = [];
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => chunks.push(chunk));
    child.once("error", (error) => chunks.push(Buffer.from(`${program}: ${error.message}\n`)));
    child.once("close", (code) => resolve({ ok: code === 0, output: Buffer.concat(chunks).toString() }));
  });
}

async function keysOfLog() {
  const { log } = await (await fetch(LOG)).json();
  return log.map(({ key }) => key ?? "");
}

async function inEngine({ name, skip, binary, through, env, tells }, binaries) {
  if (skip) return { name, passed: 0, failed: 0, skipped: 1, problem: skip };
  const started = performance.now();
  let output;
  let counts;
  const play = async () => {
    const ran = await run([...through, RUNNER, binaries[binary]], env);
    output = ran.output;
    counts = judge(cargoCounts(output), { ok: ran.ok });
    if (counts.failed === 0 && !tells(await keysOfLog()))
      Object.assign(counts, { failed: 1, problem: "the cases ran in another engine" });
    if (counts.failed > 0) throw new Error(counts.problem ?? `${counts.failed} failed`);
  };
  // Its cases have real clocks, and so have the drivers of the browsers.
  await steady(name, play).catch((thrown) => {
    if (counts === undefined) throw thrown;
  });
  // Indented: the totals in it are not counted twice.
  if (counts.failed > 0) console.log(output.replace(/^/gm, "  "));
  return { name, ...counts, seconds: (performance.now() - started) / 1000 };
}

/** A line of totals as cargo's, which counts.mjs reads. */
function tell({ name, passed, failed, skipped, seconds, problem }) {
  const took = seconds === undefined ? "" : `; finished in ${seconds.toFixed(1)}s`;
  console.log(`\n${[name, problem].filter(Boolean).join(": ")}`);
  console.log(
    `test result: ${failed > 0 ? "FAILED" : "ok"}. ${passed} passed; ${failed} failed; ${skipped} ignored${took}`,
  );
}

const names = process.argv.slice(2);
const isChosen = ({ name }) => names.length === 0 || names.some((part) => name.includes(part));
const binaries = compile();
const lanes = [...BROWSERS.map(inBrowser), outsideOfBrowsers()].map(async (runs) => {
  for (const each of runs.filter(isChosen)) {
    const result = await inEngine(each, binaries);
    tell(result);
    if (result.failed > 0) process.exitCode = 1;
  }
});
await Promise.all(lanes);
