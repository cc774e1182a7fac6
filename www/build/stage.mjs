// stage.mjs MODULES OUT: the wrapper's modules (tsc) beside what core.mjs left in MODULES, and of them the package, in OUT:
// entries in one file each, the types, the manifest and the papers.
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle, SHARED } from "./bundle.mjs";
import { notice } from "./notice.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const PAPERS = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];
const FROM_CORE = ["core/core.js", "entry/landfall.wasm", "entry/wasm-inline.js"];
// What stands in src/ts as a declaration only, since core.mjs makes the module; tsc does not pass it on.
const DECLARATION = "entry/landfall.d.wasm.ts";

// workerd compiles nothing at run time: there an entry is the same, but that its module is imported.
const TWINS = [
  ["index", "workerd"],
  ["v1", "v1-workerd"],
  ["v2", "v2-workerd"],
];

/** `[package] version` of a Cargo.toml: the one place where the version is set. */
export function cargoVersion(toml) {
  const [, section] = /^\[package\]\n((?:(?!\[).*\n?)*)/m.exec(toml) ?? [];
  const [, version] = /^version\s*=\s*"([^"]+)"/m.exec(section ?? "") ?? [];
  if (!version) throw new Error("Cargo.toml has no [package] version");
  return version;
}

/** The published package.json: pkg.json with the crate's version. Throws if it names a file that is not among `files`. */
export function toManifest(pkg, version, files) {
  if ("version" in pkg) throw new Error("pkg.json has a version: it comes from Cargo.toml");
  if (Object.keys(pkg.dependencies ?? {}).length > 0) throw new Error("the package has no dependencies");
  for (const target of targets([pkg.exports, pkg.main, pkg.types])) {
    const name = target.replace(/^\.\//, "");
    const built = name === "package.json" || files.includes(name);
    if (!built) throw new Error(`pkg.json names ${target}, which is not built`);
  }
  const { name, ...rest } = pkg;
  return { name, version, ...rest };
}

function targets(value) {
  if (value === undefined || value === null) return [];
  return typeof value === "string" ? [value] : Object.values(value).flatMap(targets);
}

/** For tools that read no `exports` (Parcel, TypeScript's `node10`): each of its paths as a file of that name. */
export function plainPaths({ exports }) {
  return Object.entries(exports).flatMap(([path, target]) => {
    const [, name] = /^\.\/(\w+)$/.exec(path) ?? [];
    const text = `export * from "${target.default}";\n`;
    return name === undefined ? [] : [`${name}.js`, `${name}.d.ts`].map((file) => [file, text]);
  });
}

/**
 * The declarations that a user of these files can come across. Those of all else are nobody's business.
 */
export function declarations(files, read) {
  const found = new Set();
  for (const name of files) visit(name);
  return found;

  function visit(name) {
    if (found.has(name) || !name.endsWith(".d.ts")) return;
    found.add(name);
    for (const [, from] of read(name).matchAll(/(?:\bfrom|^\s*import|\bimport\()\s*"(\.[^"]+)\.js"/gm))
      visit(join(dirname(name), `${from}.d.ts`));
  }
}

/** Throws unless the wrapper tells servers the same version. */
export function checkVersion(source, version) {
  const [, told] = /\bVERSION = "([^"]*)"/.exec(source) ?? [];
  if (told !== version) throw new Error(`src/ts/options/settings.ts says ${told}, Cargo.toml ${version}`);
}

/** Every file in a folder, by its path from there. */
function filesOf(folder) {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.map((entry) => relative(folder, join(entry.parentPath ?? entry.path, entry.name)));
}

/** The modules of the wrapper, by tsc, beside what core.mjs left there. */
function compile(modules) {
  const built = filesOf(modules);
  const missing = FROM_CORE.filter((name) => !built.includes(name));
  if (missing.length > 0) throw new Error(`${modules} has no ${missing.join(", ")}`);
  for (const name of built) if (!FROM_CORE.includes(name)) rmSync(join(modules, name));

  const tsc = join(root, "node_modules/typescript/bin/tsc");
  const project = join(root, "tsconfig.json");
  execFileSync(process.execPath, [tsc, "-p", project, "--outDir", modules], { stdio: "inherit" });
  for (const [entry, twin] of TWINS) {
    const text = readFileSync(join(modules, `entry/${entry}.js`), "utf8");
    writeFileSync(join(modules, `entry/${twin}.js`), text.replace('"./inline.js"', '"./imported.js"'));
  }
  copyFileSync(join(root, "src/ts", DECLARATION), join(modules, DECLARATION));
}

async function stage(modules, out) {
  compile(modules);
  const pkg = JSON.parse(readFileSync(join(root, "pkg.json"), "utf8"));
  const version = cargoVersion(readFileSync(join(root, "Cargo.toml"), "utf8"));
  checkVersion(readFileSync(join(root, "src/ts/options/settings.ts"), "utf8"), version);

  rmSync(out, { recursive: true, force: true });
  const files = [...new Set(targets(pkg.exports).map((target) => target.replace(/^\.\//, "")))];
  const entries = files.filter((name) => name.endsWith(".js"));
  const banner = `/*! landfall ${version}, ${pkg.license}; the crates in its module: NOTICE */`;
  const made = await bundle([...entries, ...SHARED], modules, out, banner);
  writeFileSync(join(modules, "metafile.json"), JSON.stringify(made));
  const read = (name) => readFileSync(join(modules, name), "utf8");
  const beside = [...declarations(files, read), "entry/landfall.wasm", DECLARATION];
  for (const name of beside) {
    mkdirSync(dirname(join(out, name)), { recursive: true });
    copyFileSync(join(modules, name), join(out, name));
  }
  for (const name of PAPERS) copyFileSync(join(root, name), join(out, name));
  writeFileSync(join(out, "NOTICE"), notice(root));
  for (const [name, text] of plainPaths(pkg)) writeFileSync(join(out, name), text);
  const manifest = toManifest(pkg, version, filesOf(out));
  writeFileSync(join(out, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  await stage(...process.argv.slice(2).map((path) => resolve(path)));
