// support.mjs: writes the table of what the packed package was run in into the README. A test compares them.
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { ENTRIES, PAGES, PROCESSES, WORKERS } from "./cases.mjs";

const README = new URL("../../README.md", import.meta.url);
const LOCK = new URL("../../package-lock.json", import.meta.url);
const SECTION = /(<!-- support -->\n)[\s\S]*?(?=<!-- \/support -->)/;

async function supportTable() {
  const { packages } = JSON.parse(await readFile(LOCK, "utf8"));
  const named = ({ name, package: from }) => {
    const version = from && packages[`node_modules/${from}`].version;
    if (from === undefined || from === name.toLowerCase()) return [name, version].filter(Boolean).join(" ");
    return `${name} (${from} ${version})`;
  };
  const row = (where) => (each) => {
    const ran = ENTRIES.map((entry) => (each.entries.includes(entry) ? "yes" : ""));
    return [`${named(each)}${where}`, each.how, ...ran];
  };
  const rows = [
    ["where", "how", ...ENTRIES.map((entry) => `\`${entry}\``)],
    Array(2 + ENTRIES.length).fill("---"),
    ...PROCESSES.map(row("")),
    ...WORKERS.map(row("")),
    ...PAGES.map(row(", page in Chromium")),
  ];
  return rows.map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}

/** The README, and what it would be with the table of today. */
export async function readmes() {
  const readme = await readFile(README, "utf8");
  const table = await supportTable();
  return { readme, today: readme.replace(SECTION, (_, head) => head + table) };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await writeFile(README, (await readmes()).today);
