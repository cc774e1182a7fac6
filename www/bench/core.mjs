// node www/bench/core.mjs [WORDS...]: the core by itself, natively, by criterion; its words go to criterion. Prints a table
// and writes target/bench/core.json.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const target = process.env.CARGO_TARGET_DIR ?? fileURLToPath(new URL("../../target", import.meta.url));
const found = join(target, "criterion");

/** Every result below a folder. */
function* results(folder) {
  for (const { name } of readdirSync(folder, { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  )) {
    const latest = join(folder, name, "new");
    if (existsSync(latest)) yield result(latest);
    else yield* results(join(folder, name));
  }
}

function result(folder) {
  const read = (name) => JSON.parse(readFileSync(join(folder, name), "utf8"));
  const { full_id: name, throughput } = read("benchmark.json");
  const [[, amount]] = Object.entries(throughput);
  // A stream is told by the event, a text as a whole.
  const units = "Elements" in throughput ? amount : 1;
  return { name, us: read("estimates.json").median.point_estimate / 1_000 / units };
}

const { status } = spawnSync(
  "cargo",
  ["bench", "--locked", "--bench", "core", "--", ...process.argv.slice(2)],
  {
    stdio: ["ignore", "ignore", "inherit"],
  },
);
if (status !== 0) process.exit(status ?? 1);
const each = [...results(found)];
const wide = Math.max(...each.map(({ name }) => name.length));
console.log(`The core, natively: us of each event, or of the text\n${each.map(line).join("\n")}`);
mkdirSync(join(target, "bench"), { recursive: true });
writeFileSync(join(target, "bench/core.json"), `${JSON.stringify(each, null, 1)}\n`);

function line({ name, us }) {
  return `${name.padEnd(wide)}  ${us.toPrecision(3)}`;
}
