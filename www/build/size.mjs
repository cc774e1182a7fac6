// size.mjs MODULES PACKAGE [RAW] [--lower]: what the package weighs, against the budget in size.json; exit 1 above it. With RAW,
// cargo's module, also what it is made of. --lower makes the budget what was reached, and writes the README's table from it.
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { namedModule } from "./core.mjs";
import { functionsOf, groupOf, plainName, sectionsOf } from "./wasm-names.mjs";

const BUDGET = new URL("size.json", import.meta.url);
const README = new URL("../../README.md", import.meta.url);
const TABLE = /(<!-- size -->\n)[\s\S]*?(?=<!-- \/size -->)/;
// What a reached size may grow by.
const SLACK = 1.01;

/** What is budgeted, and the files of `entry` that one gets by it. */
const PARTS = {
  "landfall.wasm": ["landfall.wasm"],
  landfall: ["index.js", "inline.js"],
  "landfall/url": ["url.js"],
  "landfall/slim": ["slim.js"],
  "landfall/v1": ["v1.js", "inline.js"],
  "landfall/v2": ["v2.js", "inline.js"],
};

const gzip = (bytes) => gzipSync(bytes, { level: 9 }).length;

/** `{ raw, gzip, brotli }` of each part of a package, in bytes. */
export function sizesOf(folder) {
  const size = (files) => {
    const all = files.map((name) => readFileSync(join(folder, "entry", name)));
    const sum = (weigh) => all.reduce((total, bytes) => total + weigh(bytes), 0);
    return {
      raw: sum(({ length }) => length),
      gzip: sum(gzip),
      brotli: sum((each) => brotliCompressSync(each).length),
    };
  };
  return Object.fromEntries(Object.entries(PARTS).map(([name, files]) => [name, size(files)]));
}

/** What is above its budget, as lines. */
export function above(sizes, budget) {
  return Object.entries(sizes).flatMap(([name, { gzip: size }]) => {
    const most = budget[name];
    if (most === undefined) return [`${name} has no budget`];
    return size > most
      ? [`${name} has ${size} bytes gzipped, ${size - most} above its budget of ${most}`]
      : [];
  });
}

/** The budget after these sizes were reached: it never grows by itself. */
export function lowered(budget, sizes) {
  const most = ([name, { gzip: size }]) => [
    name,
    Math.min(budget[name] ?? Infinity, Math.floor(size * SLACK)),
  ];
  return Object.fromEntries(Object.entries(sizes).map(most));
}

/** The README with its table as the budget has it. */
export function withTable(readme, budget) {
  const kilobytes = (name) => `${Math.ceil(budget[name] / 1_000)} KB`;
  const rows = [
    ["what is loaded", "gzipped, at most"],
    ["---", "---:"],
    ["`landfall`, the module inside", kilobytes("landfall")],
    ["`landfall/v1` or `landfall/v2`, the module inside", kilobytes("landfall/v2")],
    ["`landfall/url`, JavaScript", kilobytes("landfall/url")],
    ["`landfall/url`, module", kilobytes("landfall.wasm")],
  ];
  const table = rows.map((cells) => `| ${cells.join(" | ")} |\n`).join("");
  return readme.replace(TABLE, (_, head) => head + table);
}

function print(title, heads, rows) {
  const table = [heads, ...rows].map((row) =>
    row.map((cell) => (typeof cell === "number" ? cell.toLocaleString("en") : cell)),
  );
  const widths = heads.map((_, at) => Math.max(...table.map((row) => row[at].length)));
  console.log(`\n${title}`);
  for (const [name, ...cells] of table)
    console.log(
      ["", name.padEnd(widths[0]), ...cells.map((cell, n) => cell.padStart(widths[n + 1]))].join("  "),
    );
}

/** The biggest ones of what is given as pairs, the rest as one. */
function biggest(pairs, most) {
  const sums = new Map();
  for (const [name, size] of pairs) sums.set(name, (sums.get(name) ?? 0) + size);
  const sorted = [...sums].sort(([, one], [, other]) => other - one);
  const rest = sorted.slice(most).reduce((sum, [, size]) => sum + size, 0);
  return [...sorted.slice(0, most), ...(rest > 0 ? [["all else", rest]] : [])];
}

function tell(modules, sizes, budget, raw) {
  const rows = Object.entries(sizes).map(([name, { raw: bytes, gzip: packed, brotli }]) => [
    name,
    bytes,
    packed,
    brotli,
    budget[name] ?? 0,
  ]);
  print("What is loaded", ["", "bytes", "gzip", "brotli", "budget (gzip)"], rows);

  const { outputs } = JSON.parse(readFileSync(join(modules, "metafile.json"), "utf8"));
  for (const name of ["url.js", "inline.js"]) {
    const [, { inputs }] = Object.entries(outputs).find(([path]) => path.endsWith(`entry/${name}`));
    const pairs = Object.entries(inputs).map(([path, { bytesInOutput }]) => [path, bytesInOutput]);
    print(`What entry/${name} is made of`, ["", "bytes"], biggest(pairs, 25));
  }
  if (raw === undefined) return;
  const named = namedModule(raw);
  const kept = ({ name }) => name !== "name";
  print(
    "The sections of the module",
    ["", "bytes"],
    biggest(
      sectionsOf(named)
        .filter(kept)
        .map(({ name, bytes }) => [name, bytes.length]),
      25,
    ),
  );
  const functions = functionsOf(named);
  const plain = (name) => plainName(name).slice(0, 90);
  print(
    "Its functions, by where they were written",
    ["", "bytes"],
    biggest(
      functions.map(({ name, size }) => [groupOf(name), size]),
      45,
    ),
  );
  print(
    "The largest of them",
    ["", "bytes"],
    biggest(
      functions.map(({ name, size }) => [plain(name), size]),
      25,
    ).slice(0, 25),
  );
}

function main(given) {
  const [modules, folder, raw] = given.filter((each) => !each.startsWith("--")).map((path) => resolve(path));
  const sizes = sizesOf(folder);
  let budget = JSON.parse(readFileSync(BUDGET, "utf8"));
  if (given.includes("--lower")) {
    budget = lowered(budget, sizes);
    writeFileSync(BUDGET, `${JSON.stringify(budget, null, 2)}\n`);
    writeFileSync(README, withTable(readFileSync(README, "utf8"), budget));
  }
  tell(modules, sizes, budget, raw);
  const faults = above(sizes, budget);
  for (const fault of faults) console.log(fault);
  if (faults.length > 0) process.exitCode = 1;
  const isLoose = Object.entries(sizes).some(
    ([name, { gzip: size }]) => budget[name] > Math.ceil(size * SLACK),
  );
  if (isLoose)
    console.log("\nSmaller than the budget by more than a hundredth: `make size LOWER=1` lowers it.");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main(process.argv.slice(2));
