// The picture of the README: what events and calls cost, of www/docs/speed.json, which www/bench/picture.mjs writes.
import { readFileSync } from "node:fs";
import { picture, text } from "./draw.mjs";

const NAMES = {
  landfall: "landfall",
  "landfall alone": "landfall, its own client",
  bare: "fetch and a parser alone",
  sdk: "official SDK 2",
  "sdk 1": "official SDK 1",
  ai: "AI SDK",
};
const ROWS = [
  ["160-transport", "160 B events, 16 KiB reads", "an event"],
  ["100k-transport", "100 KB events, 16 KiB reads", "an event"],
  ["short-32", "short JSON calls, 32 at once", "a call"],
];

const [left, top] = [250, 66];
const [wide, high] = [236, 148];
const bar = 20;

const short = (number) => (number >= 10 ? number.toFixed(0) : number.toFixed(1));

/** The bars of one scenario in one runtime: each as long as it is against the longest. */
function bars(medians, x, y) {
  const longest = Math.max(...Object.values(medians));
  return Object.entries(medians).flatMap(([name, value], i) => {
    const at = y + i * (bar + 4);
    const length = Math.max(2, (value / longest) * (wide - 80)).toFixed(1);
    const look = name.startsWith("landfall") ? "ours" : "";
    return [
      `<rect x="${x}" y="${at}" width="${length}" height="${bar}" class="${look}"/>`,
      text(x + Number(length) + 6, at + 15, `${short(value)} µs`, look === "ours" ? "name" : "quiet"),
    ];
  });
}

function row([id, title, unit], runtimes, y) {
  const [first] = runtimes;
  const names = Object.keys(first.medians[id]);
  return [
    text(20, y - 8, `${title}, CPU of ${unit}`, "name"),
    ...names.map((name, i) => text(left - 10, y + i * (bar + 4) + 15, NAMES[name], "quiet", "end")),
    ...runtimes.flatMap(({ medians }, n) => bars(medians[id], left + n * wide, y)),
  ];
}

/** The picture of what was measured last. */
export function speed() {
  const { runtimes, cpu } = JSON.parse(readFileSync(new URL("speed.json", import.meta.url), "utf8"));
  const height = top + ROWS.length * high + 14;
  return picture(left + 3 * wide + 10, height, "CPU of events and calls beside other transports", [
    "<style>.ours { fill: var(--act); stroke: none }</style>",
    ...runtimes.map(({ runtime }, n) => text(left + n * wide, 24, runtime, "name")),
    ...ROWS.flatMap((each, n) => row(each, runtimes, top + n * high)),
    text(
      20,
      height - 8,
      `Shorter is better. The parser is eventsource-parser with JSON.parse. Medians of one run, ${cpu}, two cores.`,
      "quiet",
    ),
  ]);
}
