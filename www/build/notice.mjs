// NOTICE: the crates that are compiled into the module, each with its licence and the texts that come with it.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

const WASM = "wasm32-unknown-unknown";
const isText = (name) => /^(LICEN[CS]E|COPYING|NOTICE|UNLICENSE)/i.test(name);

/** The packages that code of the module comes from: what the crate depends on, without tests and without what only runs at build time. */
export function compiledIn({ packages, resolve }, crate) {
  const byId = new Map(packages.map((each) => [each.id, each]));
  const nodes = new Map(resolve.nodes.map((each) => [each.id, each]));
  const isMacro = (id) => byId.get(id).targets.some(({ kind }) => kind.includes("proc-macro"));
  const root = packages.find(({ name, source }) => name === crate && source === null);
  if (root === undefined) throw new Error(`no crate ${crate}`);
  const found = new Set();
  const open = [root.id];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    for (const { pkg, dep_kinds: kinds } of nodes.get(id).deps) {
      const isNormal = kinds.some(({ kind }) => kind === null);
      if (!isNormal || found.has(pkg) || isMacro(pkg)) continue;
      found.add(pkg);
      open.push(pkg);
    }
  }
  const order = ({ name, version }) => `${name} ${version}`;
  return [...found].map((id) => byId.get(id)).sort((one, other) => (order(one) < order(other) ? -1 : 1));
}

/** The text of NOTICE. `textsOf` gives the licence texts of a package. Throws where one has no licence. */
export function noticeOf(packages, textsOf) {
  const bearers = new Map();
  const lines = packages.map((each) => {
    const { name, version, license, license_file: file } = each;
    if (!license && !file) throw new Error(`${name} ${version} has no licence`);
    for (const text of textsOf(each)) bearers.set(text, [...(bearers.get(text) ?? []), name]);
    return `  ${name} ${version}: ${license ?? "see below"}`;
  });
  const head = "landfall.wasm contains code of these crates, under the licences that stand behind them:\n";
  const texts = [...bearers].map(([text, names]) => `---- ${names.join(", ")} ----\n\n${text}\n`);
  return `${[head, ...lines].join("\n")}\n\n${texts.join("\n")}`;
}

function textsOf({ manifest_path: manifest }) {
  const folder = dirname(manifest);
  const names = existsSync(folder) ? readdirSync(folder).filter(isText).sort() : [];
  return names.map((name) => readFileSync(join(folder, name), "utf8").replace(/\r\n/g, "\n").trim());
}

/** NOTICE of the module as the lock file builds it. */
export function notice(root) {
  const more = ["--locked", "--filter-platform", WASM];
  const text = execFileSync("cargo", ["metadata", "--format-version", "1", ...more], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 1 << 28,
  });
  return noticeOf(compiledIn(JSON.parse(text), "landfall"), textsOf);
}
