// What can be measured once in a process or a page only: a sample each in a new one.
import { interleave } from "./measure.mjs";

function sampled(what, units) {
  return async (host, { rounds, warm }) => {
    const runs = Object.fromEntries(["landfall", "sdk"].map((who) => [who, () => host.fresh(what, who)]));
    const samples = await interleave(runs, { rounds, warm: Math.min(warm, 1), cost: (run) => run() });
    const of = (part) =>
      Object.fromEntries(Object.entries(samples).map(([who, each]) => [who, each.map((one) => one[part])]));
    return Object.fromEntries(
      Object.entries(units).map(([part, unit]) => [`${what}-${part}`, { unit, samples: of(part) }]),
    );
  };
}

/** By name; each `(host, load) => results by id`. A host has `fresh(what, who)`, which gives each part. */
export const once = {
  cold: sampled("cold", { import: "ms", answer: "ms" }),
  memory: sampled("memory", { heap: "KiB", wasm: "KiB" }),
};

/** Results by id of what is wanted, of `scenarios` and of what is measured once. */
export async function measureAll(wanted, { scenarios, host, load }) {
  const results = {};
  for (const id of wanted) {
    if (id in once) Object.assign(results, await once[id](host, load));
    else results[id] = { unit: "us", samples: await scenarios[id](host, load) };
  }
  return results;
}
