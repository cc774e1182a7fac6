// The steps a call may ask for (README.md lists them). A step is an object; the first name of STEPS that it has
// is what it does. The order of names matters only where a step carries fields named like another step.

import { setTimeout as sleep } from "node:timers/promises";

export const STEPS = {
  progress: (run, { progress, total, message }) => run.progress({ progress, total, message }),

  cut(run, { cut, by = "fin" }) {
    if (cut === "inside") run.stream.cutInside = by;
    else run.stream.cut(cut);
  },

  async close(run, { retry }) {
    if (retry !== undefined) await run.stream.raw(`retry: ${retry}\n\n`);
    run.stream.close();
  },

  prime(run, { retry, everyTime = false }) {
    if (everyTime) run.stream.priming = { retry };
    return run.stream.prime(retry);
  },

  endpoint: (run, { endpoint }) => run.stream.raw(`event: endpoint\ndata: ${endpoint}\n\n`),
  retry: (run, { retry }) => run.stream.raw(`retry: ${retry}\n\n`),
  message: (run, { message, level = "info" }) => run.message(message, level),
  notify: (run, { notify }) => run.send({ jsonrpc: "2.0", ...notify }),
  listen: (run, { listen }) => run.session.listen.send(JSON.stringify({ jsonrpc: "2.0", ...listen })),
  comment: (run, { comment }) => run.stream.raw(`: ${comment === true ? "still here" : comment}\n\n`),
  raw: (run, { raw }) => run.stream.raw(raw),
  wait: (run, { wait }) => sleep(wait, undefined, { signal: run.signal }),
  awaitResume: (run) => run.stream.connected(run.signal),

  stall(run, { stall }) {
    run.stream.stall();
    return sleep(stall === true ? 0 : stall, undefined, { signal: run.signal });
  },

  evict(run, { evict }) {
    run.stream.evicted = evict === true ? 400 : evict;
  },

  killSession: (run, { killSession }) => run.session.kill(killSession === true ? 404 : killSession),

  refuseResume(run, { refuseResume }) {
    for (let n = refuseResume.times ?? 1; n > 0; n -= 1) run.stream.refusals.push(refuseResume);
  },

  hold409(run, { hold409 }) {
    run.stream.whileHeld = hold409 ? "409" : "takeover";
  },

  whileHeld(run, { whileHeld }) {
    run.stream.whileHeld = whileHeld;
  },

  duplicate: (run, { duplicate }) => run.stream.duplicate(duplicate),

  replayFrom(run, { replayFrom }) {
    run.stream.replayFrom = replayFrom;
  },

  replaySkip(run, { replaySkip }) {
    run.stream.replaySkip = replaySkip;
  },

  garbage: (run, { garbage, bytes }) => run.stream.raw(garbageBlock(garbage, bytes)),
  idOnly: (run) => run.stream.idOnly(),

  id(run, { id }) {
    run.stream.nextId = id;
  },

  noIds(run, { noIds }) {
    run.stream.ids = !noIds;
  },

  array(run, { array }) {
    if (array === true) run.answerAsArray = true;
    else return run.send(array.map((notification) => ({ jsonrpc: "2.0", ...notification })));
  },

  async ask(run, { ask }) {
    run.answers.push(await run.ask(ask));
  },

  nullId(run, { nullId }) {
    if (nullId) run.answerId = null;
  },

  answerId(run, { answerId }) {
    run.answerId = answerId;
  },

  keepOpen(run, { keepOpen }) {
    run.keepOpen = keepOpen;
  },

  ignoreCancel(run, { ignoreCancel }) {
    run.ignoreCancel = ignoreCancel;
  },

  result: (run, { result }) => run.answer({ result }),
  error: (run, { error }) => run.answer({ error }),

  /** The script ends here and the call gets no answer; a connection that is open stays open. */
  noAnswer: (run) => run.stop(),
};

function garbageBlock(kind, bytes = 1 << 20) {
  switch (kind) {
    case "not json":
      return 'data: {"jsonrpc":"2.0",\n\n';
    case "not rpc":
      return 'data: {"hello":"world"}\n\n';
    case "bytes":
      return Buffer.concat([
        Buffer.from("data: "),
        Buffer.from([0xff, 0xfe, 0xc3, 0x28]),
        Buffer.from("\n\n"),
      ]);
    case "long":
      return `data: "${"x".repeat(bytes)}"\n\n`;
    case "endless":
      return `data: "${"x".repeat(bytes)}`;
    default:
      return `data: ${kind}\n\n`;
  }
}

const nameOf = (step, table) => Object.keys(table).find((name) => Object.hasOwn(step, name));

/** The first step that nobody knows, if any: checked before a tool runs, so that a typing error is not a test. */
export const unknownStep = (steps, table = STEPS) => steps.find((step) => nameOf(step, table) === undefined);

export async function runSteps(run, steps, table = STEPS) {
  for (const step of steps) {
    await table[nameOf(step, table)](run, step);
    if (run.signal.aborted) return;
  }
}

/**
 * Faults of a request before any event: `{ status, headers, body, contentType, delayMs, hang, cutBeforeHeaders,
 * execute }`. True if the request was dealt with here. `execute` runs the tool all the same: what a client can't
 * tell from a refusal.
 */
export async function answeredByFault(exchange, fault, execute) {
  if (fault.delayMs) await sleep(fault.delayMs);
  if (fault.execute) execute();
  if (fault.hang) return true;
  if (fault.cutBeforeHeaders) {
    exchange.drop(fault.cutBeforeHeaders === true ? "rst" : fault.cutBeforeHeaders);
    return true;
  }
  if (fault.status === undefined) return false;
  const body = typeof fault.body === "object" ? JSON.stringify(fault.body) : (fault.body ?? "");
  const type = fault.contentType ?? (typeof fault.body === "object" ? "application/json" : "text/plain");
  exchange.answer(fault.status, body, { "content-type": type, ...fault.headers });
  return true;
}
