// stage.mjs OUT: the wrapper (tsc), the manifest and the papers, beside what core.mjs left in OUT.
import { execFileSync } from "node:child_process";
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
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
 * The modules that the manifest's targets import, themselves included, and the declarations that a user of theirs can come
 * across, with the module of each. Declarations of all else are nobody's business.
 */
export function reachable(exports, read) {
  const found = new Set();
  for (const target of targets(exports)) visit(target.replace(/^\.\//, ""));
  return found;

  function visit(name) {
    if (found.has(name) || !/\.(?:js|d\.ts)$/.test(name)) return;
    found.add(name);
    const end = name.endsWith(".js") ? "js" : "d.ts";
    if (end === "d.ts") visit(name.replace(/d\.ts$/, "js"));
    for (const [, from] of read(name).matchAll(/(?:\bfrom|^\s*import|\bimport\()\s*"(\.[^"]+)\.js"/gm))
      visit(join(dirname(name), `${from}.${end}`));
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

function stage(out) {
  const built = filesOf(out);
  const missing = FROM_CORE.filter((name) => !built.includes(name));
  if (missing.length > 0) throw new Error(`${out} has no ${missing.join(", ")}`);
  for (const name of built) if (!FROM_CORE.includes(name)) rmSync(join(out, name));

  const tsc = join(root, "node_modules/typescript/bin/tsc");
  const project = join(root, "tsconfig.json");
  execFileSync(process.execPath, [tsc, "-p", project, "--outDir", out], { stdio: "inherit" });
  for (const [entry, twin] of TWINS) {
    const text = readFileSync(join(out, `entry/${entry}.js`), "utf8");
    writeFileSync(join(out, `entry/${twin}.js`), text.replace('"./inline.js"', '"./imported.js"'));
  }
  copyFileSync(join(root, "src/ts", DECLARATION), join(out, DECLARATION));
  for (const name of PAPERS) copyFileSync(join(root, name), join(out, name));
  writeFileSync(join(out, "NOTICE"), notice(root));

  const pkg = JSON.parse(readFileSync(join(root, "pkg.json"), "utf8"));
  const kept = reachable(pkg.exports, (name) => readFileSync(join(out, name), "utf8"));
  const isModule = /\.(?:js|d\.ts)$/;
  for (const name of filesOf(out)) if (isModule.test(name) && !kept.has(name)) rmSync(join(out, name));
  for (const [name, text] of plainPaths(pkg)) writeFileSync(join(out, name), text);
  const version = cargoVersion(readFileSync(join(root, "Cargo.toml"), "utf8"));
  checkVersion(readFileSync(join(root, "src/ts/options/settings.ts"), "utf8"), version);
  const manifest = toManifest(pkg, version, filesOf(out));
  writeFileSync(join(out, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) stage(process.argv[2]);
