// What `make test` runs, in this order; `make check` runs those that say `quick`.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { cargoCounts, checkCounts, fuzzCounts, nodeCounts } from "./counts.mjs";
import { node22, node24 } from "./node24.mjs";
import { onPath } from "./path.mjs";

const WASM = ["--target", "wasm32-unknown-unknown"];
// A tenth of the size: wasm-bindgen-test-runner works through all of it in each engine. Names stay.
const NO_DEBUG = { CARGO_PROFILE_DEV_DEBUG: "0" };
const DENY = ["--", "-D", "warnings"];

const check = (name, command, more) => ({ name, command, count: checkCounts, quick: true, ...more });
const cargo = (name, args, more) => ({
  name,
  command: ["cargo", "test", "--no-fail-fast", ...args],
  count: cargoCounts,
  ...more,
});
const node = (name, folder, { flags = [], ...more } = {}) => ({
  name,
  command: ["node", "--test", "--test-reporter=spec", ...flags, ...testFiles(folder)],
  count: nodeCounts,
  ...more,
});

const fuzz = () => ({
  name: "fuzz smoke",
  command: ["node", "www/build/fuzz.mjs"],
  count: fuzzCounts,
  skip: whyNotFuzz(),
});

/**
 * - `command`, `env`: run at the repository's root, with the environment of env.sh
 * - `count`: reads the runner's output
 * - `server`: the fault server is up while it runs
 * - `skip`: why it can't run here
 */
export function suites() {
  const python = existsSync(".tools/venv/bin/python");
  const chromium = onPath("chromium") ? undefined : "no chromium";
  return [
    check("rustfmt", ["cargo", "fmt", "--all", "--check"]),
    check("rustfmt, fuzz", ["cargo", "fmt", "--check", "--manifest-path", "tests/fuzz/Cargo.toml"]),
    check("clippy", ["cargo", "clippy", "--all-targets", ...DENY]),
    check("clippy, wasm32", ["cargo", "clippy", ...WASM, "--lib", "--tests", ...DENY]),
    check("rustdoc", ["cargo", "doc", "--no-deps", "--lib", ...WASM], {
      env: { RUSTDOCFLAGS: "-D warnings" },
      quick: false,
    }),
    check("tsc", ["tsc", "-p", "tsconfig.json", "--noEmit"]),
    check("api report", ["node", "www/build/api.mjs", "target/npm"]),
    check("size", ["node", "www/build/size.mjs", "target/modules", "target/npm"]),
    check("biome", ["biome", "check", "--error-on-warnings", "."]),
    cargo("core", [], { quick: true }),
    cargo("driver in Node", [...WASM, "--test", "web"], { server: true, quick: true, env: NO_DEBUG }),
    {
      name: "driver in other engines",
      command: ["node", "www/build/engines.mjs"],
      count: cargoCounts,
      server: true,
      env: NO_DEBUG,
    },
    node("wrapper", "tests/js", { quick: true }),
    node("fault server", "tests/server", { quick: true }),
    node("real servers", "tests/interop", { skip: python ? undefined : "no Python" }),
    node("servers of others", "tests/servers"),
    node("fault matrix", "tests/matrix"),
    node("relay", "tests/relay"),
    node("proof of the relay", "tests/relay/proof", { flags: ["--expose-gc"] }),
    node("load", "tests/load", { flags: ["--expose-gc"] }),
    node("drop-in", "tests/drop-in"),
    // @ai-sdk/mcp 2 asks for Node 22.
    {
      name: "drop-in on Node 24",
      command: [
        ...[node24() ?? "node", "--test", "--test-reporter=spec"],
        ...["errors.call", "faults"].map((name) => join("tests/drop-in", `${name}.test.mjs`)),
      ],
      count: nodeCounts,
      skip: node24() ? undefined : "no Node 24",
    },
    node("migration", "tests/migration", { skip: python ? undefined : "no Python" }),
    node("conformance", "tests/conformance", { skip: node22() ? undefined : "no Node 22" }),
    // Each file waits for other programs most of the time.
    node("packaging", "tests/packaging", { flags: ["--test-concurrency=3"] }),
    node("pages before the relay", "tests/relay/pages", { skip: chromium, flags: ["--test-timeout=180000"] }),
    node("pages", "tests/pages", { skip: chromium, flags: ["--test-timeout=180000"] }),
    node("handles", "tests/handles", { flags: ["--expose-gc", "--test-concurrency=2"] }),
    fuzz(),
  ];
}

function testFiles(folder) {
  const names = existsSync(folder) ? readdirSync(folder).sort() : [];
  return names.filter((name) => name.endsWith(".test.mjs")).map((name) => join(folder, name));
}

function whyNotFuzz() {
  const compiler = process.env.CXX ?? ["c++", "g++", "clang++"].find(onPath);
  if (!compiler) return "libFuzzer needs a C++ compiler (g++ or clang++)";
  return onPath("cargo-fuzz") ? undefined : "no cargo-fuzz";
}
