// What is bundled for a page or a Worker: a scenario by its id. CPU is that of the whole process, which only the server
// can see.
import * as packages from "./bundled-rivals.mjs";
import { scenarios } from "./scenarios.mjs";

/** Samples by name; `pids` are the processes whose CPU counts. */
export function run(id, { url, load, pids }) {
  const used = async () => {
    const response = await fetch(new URL("/cpu", url), { method: "POST", body: JSON.stringify({ pids }) });
    return response.json();
  };
  const cost = async (once, units) => {
    globalThis.gc?.({ type: "minor" });
    const before = await used();
    await once();
    return ((await used()) - before) / units;
  };
  return scenarios[id]({ url, packages, cost }, load);
}
