// core.mjs RAW.wasm OUT: from cargo's module to core/core.js, entry/landfall.wasm and entry/wasm-inline.js in OUT.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { toFactory, withShortNames } from "./factory.mjs";

/** A module whose default export is the base64 text of the gzipped bytes: no bundler needs to know of a second file. */
export function toInline(wasm) {
  return `// Made by the build: landfall.wasm, gzipped, in base64.\nexport default "${gzipSync(wasm, { level: 9 }).toString("base64")}";\n`;
}

const kib = (bytes) => `${(bytes.length / 1024).toFixed(1)} KiB`;
const run = (program, ...args) => execFileSync(program, args, { stdio: ["ignore", "inherit", "inherit"] });
// The features in use (simd among them) stand in the module's target_features section, which wasm-opt reads. Below 1 024
// there is but the far end of the stack. Small functions in the order of their names are larger, but smaller when gzipped,
// than such as are built into each other.
const SMALL = [
  ...["-Oz", "--converge", "--low-memory-unused", "--skip-pass=inlining-optimizing"],
  "--reorder-functions-by-name",
];

/** Runs with a folder that is there for as long. */
function inFolder(use) {
  const work = mkdtempSync(join(tmpdir(), "landfall-"));
  try {
    return use(work);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Cargo's module with its glue, in a folder, as `core_bg.wasm` and `core.js`. */
function bind(raw, work) {
  const options = ["--target", "web", "--no-typescript", "--omit-default-module-path"];
  run("wasm-bindgen", ...options, "--remove-producers-section", "--out-dir", work, "--out-name", "core", raw);
}

/** The module as it is published, but that its functions have their names. */
export function namedModule(raw) {
  return inFolder((work) => {
    bind(raw, work);
    run("wasm-opt", ...SMALL, "-g", join(work, "core_bg.wasm"), "-o", join(work, "named.wasm"));
    return readFileSync(join(work, "named.wasm"));
  });
}

function make(raw, work, out) {
  bind(raw, work);
  const files = [join(work, "core_bg.wasm"), "-o", join(work, "landfall.wasm")];
  const options = [...SMALL, "--minify-imports-and-exports-and-modules"];
  const told = execFileSync("wasm-opt", [...options, ...files], { encoding: "utf8" });
  const core = withShortNames(toFactory(readFileSync(join(work, "core.js"), "utf8")), told);
  const wasm = readFileSync(join(work, "landfall.wasm"));

  for (const room of ["core", "entry"]) mkdirSync(join(out, room), { recursive: true });
  writeFileSync(join(out, "entry/landfall.wasm"), wasm);
  writeFileSync(join(out, "entry/wasm-inline.js"), toInline(wasm));
  writeFileSync(join(out, "core/core.js"), core);
  console.log(`landfall.wasm ${kib(wasm)}, gzipped ${kib(gzipSync(wasm, { level: 9 }))}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  inFolder((work) => make(process.argv[2], work, process.argv[3]));
