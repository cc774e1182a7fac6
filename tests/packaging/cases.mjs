// Everything that the packed package is run in. The README's table is made from this list, so that it claims no more.
import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { node22, node24 } from "../../www/build/node24.mjs";
import { bin, installedFile, run, start } from "./tools.mjs";

const INLINE = "landfall";
const FILE = "landfall/url";
const SLIM = "landfall/slim";
const ALL = [INLINE, FILE, SLIM];
const CLIENTS = ["landfall/v1", "landfall/v2"];
/** All that a program of `consumer` is there for. */
export const ENTRIES = [...ALL, ...CLIENTS];

/** What a program of `consumer` is called that uses an entry: `page`, `page-url`, `page-slim`. */
export const program = (kind, entry) => entry.replace("landfall", kind).replace("/", "-");

const isNode20 = process.versions.node.startsWith("20.");

/** Programs in processes: `command` runs a file. */
export const PROCESSES = [
  {
    ...{ name: "Node 20", how: "`import`", entries: ENTRIES, extension: "mjs" },
    command: [process.execPath],
    skip: isNode20 ? undefined : `this is Node ${process.versions.node}`,
  },
  {
    ...{ name: "Node 24", how: "`import`", entries: ALL, extension: "mjs" },
    command: [node24()],
    skip: whyNot24(),
  },
  {
    ...{ name: "Node 24", how: "`require`", entries: ALL, extension: "cjs" },
    command: [node24()],
    skip: whyNot24(),
  },
  {
    ...{ name: "Deno", package: "deno", how: "`import`", entries: ENTRIES, extension: "mjs" },
    // The SDKs look at the environment.
    command: [bin("deno"), "run", "--allow-net", "--allow-read", "--allow-env", "--allow-sys"],
  },
  {
    ...{ name: "Bun", package: "bun", how: "`import`", entries: ENTRIES, extension: "mjs" },
    command: [bin("bun")],
  },
];

/**
 * Pages in Chromium, no bundler with a file of configuration: `build` resolves with the folder to be served, `serve` with
 * a server of the bundler's own.
 */
export const PAGES = [
  {
    ...{ name: "Vite", package: "vite", how: "`vite build`", entries: [INLINE, FILE, ...CLIENTS] },
    async build(folder, entry) {
      await page(folder, `./${program("page", entry)}.mjs`);
      await run([bin("vite"), "build"], folder);
      return join(folder, "dist");
    },
  },
  {
    ...{ name: "Vite", package: "vite", how: "`vite` (dev server)", entries: [INLINE, FILE] },
    async serve(folder, entry) {
      await page(folder, `./${program("page", entry)}.mjs`);
      return start([bin("vite"), "--host", "127.0.0.1"], folder);
    },
  },
  {
    ...{ name: "webpack", package: "webpack", how: "`webpack --entry`", entries: [INLINE, FILE] },
    build: (folder, entry) =>
      bundle(folder, "main.js", entry, (file, out) => [bin("webpack"), "--entry", `./${file}`, "-o", out]),
  },
  {
    ...{ name: "Parcel", package: "parcel", how: "`parcel build`", entries: [INLINE, FILE] },
    async build(folder, entry) {
      await page(folder, `./${program("page", entry)}.mjs`);
      await run([bin("parcel"), "build", "index.html"], folder);
      return join(folder, "dist");
    },
  },
  {
    ...{ name: "esbuild", package: "esbuild", how: "`esbuild --bundle`", entries: [INLINE, SLIM] },
    build: (folder, entry) =>
      bundle(folder, `${program("page", entry)}.js`, entry, (file, out) => [
        ...[bin("esbuild"), file, "--bundle", "--format=esm", `--outdir=${out}`],
      ]),
  },
  {
    ...{ name: "Rollup", package: "rollup", how: "`rollup -p node-resolve`", entries: [INLINE, SLIM] },
    build: (folder, entry) =>
      bundle(folder, `${program("page", entry)}.js`, entry, (file, out) => [
        ...[bin("rollup"), file, "-f", "es", "-d", out],
        // By its path, for a plugin is looked for in the project.
        ...["-p", installedFile("@rollup/plugin-node-resolve/dist/es/index.js")],
      ]),
  },
];

/** Workers in workerd: `serve` resolves with a server of the Worker in a file of that name. */
export const WORKERS = [
  {
    ...{ name: "workerd", package: "miniflare", how: "Miniflare, bundled by esbuild", entries: ENTRIES },
    async serve(folder, file) {
      await run(workerBundle(`${file}.mjs`, "out"), folder);
      return startMiniflare(join(folder, "out"), `${file}.js`);
    },
  },
  {
    ...{ name: "workerd", package: "wrangler", how: "`wrangler dev`", entries: [INLINE, SLIM] },
    skip: node22() ? undefined : "no Node 22",
    serve: (folder, file) => startWrangler(folder, [`${file}.mjs`]),
  },
];

export const COMPATIBILITY_DATE = "2026-04-01";

/** The command by which esbuild makes a Worker: the module stays a file, which workerd compiles. */
export const workerBundle = (file, out) => [
  ...[bin("esbuild"), file, "--bundle", "--format=esm", "--conditions=workerd", "--loader:.wasm=copy"],
  `--outdir=${out}`,
];

/** A Worker in workerd: `{ url, output(), stop() }`. */
export async function startMiniflare(folder, script, options = {}) {
  const { Miniflare } = await import("miniflare");
  const output = [];
  const worker = new Miniflare({
    ...{ modules: true, modulesRules: [{ type: "CompiledWasm", include: ["**/*.wasm"] }] },
    ...{ scriptPath: join(folder, script), modulesRoot: folder, compatibilityDate: COMPATIBILITY_DATE },
    ...{ host: "127.0.0.1", cf: false },
    handleRuntimeStdio(...streams) {
      for (const stream of streams) stream.on("data", (chunk) => output.push(String(chunk)));
    },
    ...options,
  });
  const url = (await worker.ready).origin;
  return { url, output: () => output.join(""), stop: () => worker.dispose() };
}

/** A Worker by `wrangler dev`: the same. */
export const startWrangler = (folder, args) =>
  start(
    [
      ...[node22(), installedFile("wrangler/bin/wrangler.js"), "dev", ...args],
      ...["--ip", "127.0.0.1", "--port", "0", "--inspector-port", "0"],
      ...(args.includes("--config") ? [] : ["--compatibility-date", COMPATIBILITY_DATE]),
    ],
    folder,
  );

async function page(folder, script) {
  const html = `<!doctype html><meta charset="utf-8"><title>page</title><script type="module" src="${script}"></script>`;
  await writeFile(join(folder, "index.html"), `${html}\n`);
}

/** One file by a bundler that knows no pages; for `landfall/slim` the module is copied, as the README says. */
async function bundle(folder, made, entry, command) {
  const out = join(folder, "dist");
  await run(command(`${program("page", entry)}.mjs`, out), folder);
  await mkdir(out, { recursive: true });
  await page(out, `./${made}`);
  if (entry === SLIM) {
    await copyFile(join(folder, "node_modules/landfall/entry/landfall.wasm"), join(out, "landfall.wasm"));
  }
  return out;
}

function whyNot24() {
  return node24() ? undefined : "no Node 24 for this platform";
}
