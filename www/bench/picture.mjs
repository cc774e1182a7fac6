// node www/bench/picture.mjs: of target/bench, what the README's picture shows, into www/docs/speed.json; then draw it
// by `node www/docs/pictures.mjs`.
import { readFileSync, writeFileSync } from "node:fs";

const read = (name) =>
  JSON.parse(readFileSync(new URL(`../../target/bench/${name}.json`, import.meta.url), "utf8"));
const shown = ["160-transport", "100k-transport", "short-32"];

function summary({ runtime, lines }) {
  const medians = Object.fromEntries(
    lines
      .filter(({ id }) => shown.includes(id))
      .map(({ id, medians: { unit, ...each } }) => [
        id,
        Object.fromEntries(Object.entries(each).map(([name, value]) => [name, Number(value.toPrecision(3))])),
      ]),
  );
  // Of a browser's version the first number says enough.
  return { runtime: runtime.replace(/(\d+)\.[\d.]+$/, "$1"), medians };
}

const results = ["node", "chromium", "workerd"].map(read);
const data = { cpu: results[0].cpu, runtimes: results.map(summary) };
writeFileSync(new URL("../docs/speed.json", import.meta.url), `${JSON.stringify(data, null, 2)}\n`);
