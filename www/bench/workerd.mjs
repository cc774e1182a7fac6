// node www/bench/workerd.mjs [WORDS...] [--rounds N]: the package in a Worker beside its rivals, as node.mjs. CPU is that
// of the whole process of workerd, its network too.
import { startMiniflare } from "../../tests/packaging/cases.mjs";
import { bundle } from "./bundle.mjs";
import { main } from "./main.mjs";
import { measureAll } from "./once.mjs";
import { cpuOf, descendants } from "./proc.mjs";
import { scenarios } from "./scenarios.mjs";
import { listen } from "./server.mjs";

async function ask(worker, id, how) {
  const response = await fetch(worker.url, { method: "POST", body: JSON.stringify({ id, ...how }) });
  if (!response.ok) throw new Error(`${id}: ${await response.text()}`);
  return response.json();
}

await main("workerd", Object.keys(scenarios), async (wanted, load) => {
  const server = await listen({ controls: { "/cpu": ({ pids }) => cpuOf(pids) } });
  const folder = await bundle(["worker"], "worker", ["workerd", "worker", "browser"]);
  const worker = await startMiniflare(folder, "worker.js");
  const how = { url: server.url, load, pids: descendants("workerd") };
  const runs = Object.fromEntries(Object.keys(scenarios).map((id) => [id, () => ask(worker, id, how)]));
  try {
    return { runtime: "workerd", results: await measureAll(wanted, { scenarios: runs, load }) };
  } finally {
    await worker.stop();
    server.close();
  }
});
