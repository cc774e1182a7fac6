// One client's session with one server, behind a proxy of its own.
import { createCuttingProxy } from "../interop/proxy.mjs";
import { outcomeOf } from "./clients.mjs";
import { within } from "./within.mjs";

/** The tools of programs/: the name and the arguments of a call. */
const TOOLS = {
  count: (args) => ({ name: "count", args }),
  recite: (args) => ({ name: "recite", args }),
  rest: (args) => ({ name: "rest", args }),
  grow: (args) => ({ name: "grow", args }),
};

let stages = 0;

export async function openStage({ kind, running, upstream, client, scenario, bounds }) {
  const plans = new Map();
  const proxy = await createCuttingProxy({ upstream, plan: (key) => plans.get(key) ?? [] });
  const messages = [];
  let heard = 0;
  stages += 1;
  const stage = {
    server: running,
    proxy,
    number: stages,
    cuts: kind.cuts,
    tools: { ...TOOLS, ...kind.tools },
    heard: () => heard + messages.length,
    counts: async (key) => {
      if (!kind.tools) return running.counts(key);
      const posts = proxy.exchanges.filter(({ rpc, key: of }) => rpc === "tools/call" && of === key);
      return { ran: posts.length, cancelled: 0 };
    },
    /** `{ key, progress, end, line() }`: `end` never rejects, and comes within `bounds.callMs`. */
    call: (tool, { plan = [], signal, ...args }) => {
      const key = `${tool} ${stage.number} ${Math.random().toString(36).slice(2)}`;
      plans.set(key, plan);
      const progress = [];
      const { name, args: given } = stage.tools[tool]({ ...args, ...(tool === "grow" ? {} : { key }) });
      const onProgress = (step) => progress.push(step);
      const outcome = outcomeOf(stage.client.call(name, given, { onProgress, signal }), signal);
      const end = within(bounds.callMs, "no outcome", outcome).catch(({ message }) => message);
      const line = async () => {
        const outcome = await end;
        const { ran } = await stage.counts(key);
        const steps = messages.filter(({ of }) => of === key).map(({ step }) => step);
        const unseen =
          outcome === "answer" && ran === 1 ? remarks(kind, args.steps, { progress, messages: steps }) : [];
        return [`${tool}: ${outcome}`, `${ran} ${ran === 1 ? "run" : "runs"}`, ...unseen].join(", ");
      };
      return { key, progress, end, line };
    },
    async close() {
      try {
        await within(bounds.closeMs, "close() did not end", stage.client?.close());
      } finally {
        await proxy.close();
      }
    },
  };
  try {
    const opened = client.open(proxy.url, {
      timeouts: kind.timeouts ?? scenario.timeouts,
      onMessage: (data) => messages.push(stepOf(data)),
      onChanged: () => {
        heard += 1;
      },
    });
    stage.client = await within(bounds.callMs, "no session", opened);
  } catch (error) {
    await proxy.close();
    throw error;
  }
  return stage;
}

function stepOf(data) {
  const [, of, step] = /^(.*): step (\d+)$/.exec(data?.msg ?? data?.message ?? data) ?? [];
  return { of, step: Number(step) };
}

/** What is wrong with the steps that were seen: each is to come once, in order, and none is to be missing. */
function remarks({ seen = ["progress", "messages"] }, steps, given) {
  return Object.entries(given).flatMap(([what, numbers]) => {
    const inOrder = numbers.every((number, i) => i === 0 || number > numbers[i - 1]);
    if (!inOrder) return [`${what} ${numbers.join(" ")}`];
    return numbers.length === steps || !seen.includes(what) ? [] : [`${what} only ${numbers.join(" ")}`];
  });
}
