// Bundles what is measured in a page or a Worker, as those who use the packages do.
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../../", import.meta.url));
const modules = join(root, "target/bench/modules");

/** Writes each `www/bench/NAME.mjs` with all that it imports to target/bench/WHERE/NAME.js, and gives that folder. */
export async function bundle(names, where, conditions) {
  link();
  const outdir = join(root, "target/bench", where);
  await build({
    entryPoints: names.map((name) => join(root, "www/bench", `${name}.mjs`)),
    ...{ outdir, bundle: true, format: "esm", minify: true, conditions, loader: { ".wasm": "copy" } },
    // Here landfall is found by its name, as where it is installed.
    nodePaths: [modules],
    logLevel: "error",
  });
  return outdir;
}

function link() {
  const at = join(modules, "landfall");
  mkdirSync(dirname(at), { recursive: true });
  rmSync(at, { force: true });
  symlinkSync(join(root, "target/npm"), at);
}
