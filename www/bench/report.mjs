// Results as a table, held against the goals, and as a file in target/bench.
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { goals } from "./goals.mjs";
import { median, ratio } from "./measure.mjs";

const folder = fileURLToPath(new URL("../../target/bench/", import.meta.url));

const short = (number) => (number >= 100 ? number.toFixed(0) : number.toPrecision(2));

/** The samples of the rival whose name begins so: `landfall alone` and `landfall, 1000 open` are landfall. */
const named = (samples, name) => Object.entries(samples).find(([known]) => known.startsWith(name));

/** What a goal is held against: a ratio, or an amount. */
function judge({ of, to, unit }, { samples }) {
  const [, ours] = named(samples, of);
  if (to === undefined) return { value: median(ours), unit };
  const { median: value, low, high } = ratio(ours, named(samples, to)[1]);
  return { value, unit: "x", low, high };
}

/** The results with their medians and what they come to. */
export function summarize(results) {
  return goals
    .filter(({ id }) => id in results)
    .map((aim) => {
      const { unit, samples } = results[aim.id];
      const medians = Object.fromEntries(Object.entries(samples).map(([name, each]) => [name, median(each)]));
      return {
        ...aim,
        medians: { unit, ...medians },
        ...judge(aim, results[aim.id]),
        rounds: samples[aim.of]?.length,
      };
    });
}

function verdict({ value, goal, must }) {
  if (goal === undefined) return "";
  if (value <= goal) return "goal met";
  return value <= must ? "must met" : "missed";
}

function row(line) {
  const { unit, ...medians } = line.medians;
  const each = Object.entries(medians).map(([name, value]) => `${name} ${short(value)}`);
  const spread = line.low === undefined ? "" : ` (${short(line.low)}-${short(line.high)})`;
  return [
    line.title + (line.to ? `, x ${line.to}` : ""),
    `${short(line.value)} ${line.unit}${spread}`,
    line.goal === undefined ? "" : `${line.goal}`,
    line.must === undefined ? "" : `${line.must}`,
    verdict(line),
    `${each.join(", ")} ${unit}`,
  ];
}

export function table(lines) {
  const rows = [["", "landfall", "goal", "must", "", "medians"], ...lines.map(row)];
  const widths = rows[0].map((_, n) => Math.max(...rows.map((cells) => cells[n].length)));
  return rows
    .map((cells) =>
      cells
        .map((cell, n) => cell.padEnd(widths[n]))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** Prints the table; the file is written when everything was measured. */
export function report(name, results, { runtime, isWhole }) {
  const lines = summarize(results);
  console.log(`${runtime}\n${table(lines)}`);
  const file = `${name}${isWhole ? "" : "-part"}.json`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    `${folder}${file}`,
    `${JSON.stringify({ runtime, cpu: cpus()[0]?.model, lines, results }, null, 1)}\n`,
  );
}
