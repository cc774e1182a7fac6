// core.mjs RAW.wasm OUT: from cargo's module to core/core.js, entry/landfall.wasm and entry/wasm-inline.js in OUT.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { toFactory } from "./factory.mjs";

/** A module whose default export is the base64 text of the gzipped bytes: no bundler needs to know of a second file. */
export function toInline(wasm) {
  return `// Made by the build: landfall.wasm, gzipped, in base64.\nexport default "${gzipSync(wasm, { level: 9 }).toString("base64")}";\n`;
}

const kib = (bytes) => `${(bytes.length / 1024).toFixed(1)} KiB`;

function build(raw, out) {
  const work = mkdtempSync(join(tmpdir(), "landfall-"));
  try {
    const run = (program, ...args) =>
      execFileSync(program, args, { stdio: ["ignore", "inherit", "inherit"] });
    run(
      "wasm-bindgen",
      ...["--target", "web", "--no-typescript", "--omit-default-module-path"],
      ...["--remove-name-section", "--remove-producers-section"],
      ...["--out-dir", work, "--out-name", "core", raw],
    );
    const core = toFactory(readFileSync(join(work, "core.js"), "utf8"));
    // The features in use (simd among them) stand in the module's target_features section, which wasm-opt reads.
    run("wasm-opt", "-Oz", join(work, "core_bg.wasm"), "-o", join(work, "landfall.wasm"));
    const wasm = readFileSync(join(work, "landfall.wasm"));
    const inline = toInline(wasm);

    for (const room of ["core", "entry"]) mkdirSync(join(out, room), { recursive: true });
    writeFileSync(join(out, "entry/landfall.wasm"), wasm);
    writeFileSync(join(out, "entry/wasm-inline.js"), inline);
    writeFileSync(join(out, "core/core.js"), core);
    console.log(`landfall.wasm ${kib(wasm)}, gzipped ${kib(gzipSync(wasm, { level: 9 }))}`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) build(process.argv[2], process.argv[3]);
