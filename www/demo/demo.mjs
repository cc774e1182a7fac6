// demo.mjs [--once]: carries one call through the faults of story.mjs and draws what happens.
// Exit 0 only if the call made it, every event came once and in order, and the server ran the tool once.

import { isDeepStrictEqual, parseArgs } from "node:util";
import { connect } from "../../target/npm/entry/index.js";
import { createFaultServer } from "../../tests/server/server.mjs";
import { ITEMS, MESSAGES, STEPS } from "./story.mjs";
import { Timeline } from "./timeline.mjs";
import { Witness } from "./witness.mjs";

const KEY = "demo";
/** A stream is taken for half-open after so long without a byte. The default, 45 s, would make a long film. */
const IDLE_MS = 1_500;

async function carry(server, timeline) {
  const witness = new Witness(timeline, server.log);
  const session = await connect(server.url, {
    era: "resumable",
    clientInfo: { name: "landfall-demo", version: "1.0.0" },
    diagnostics: "full",
    timeouts: { idleMs: IDLE_MS, deadlineMs: 60_000 },
  });
  const call = session.callTool("scripted", { key: KEY, steps: STEPS });
  for await (const event of call) witness.see(event);
  // A failure is the last event, and drawn.
  witness.result = await call.result.catch(() => undefined);
  await session.close();
  return witness;
}

/** What the demo promises, and whether it was so. */
function checks({ result, progress, messages, resumes, cuts }, runs) {
  const expected = Array.from({ length: ITEMS }, (_, index) => index + 1);
  return [
    ["the call has its result", result !== undefined],
    ["every item came once, in order", isDeepStrictEqual(progress, expected)],
    ["every message came once, in order", isDeepStrictEqual(messages, MESSAGES)],
    ["the server ran the tool once", runs === 1],
    ["at least three resumes, two after a cut", resumes >= 3 && cuts >= 2],
  ];
}

function conclude(timeline, witness, runs, seconds) {
  const broken = checks(witness, runs).filter(([, holds]) => !holds);
  const { progress, messages, cuts, stalls, polls, resumes, refusals } = witness;
  timeline.summary(
    broken.length === 0 ? "green" : "red",
    broken.length === 0
      ? `The call made landfall after ${seconds.toFixed(1)} s.`
      : `Not so: ${broken.map(([promise]) => promise).join("; ")}.`,
    [
      ["events", `${progress.length + messages.length} of ${ITEMS + MESSAGES.length} delivered`],
      ["faults", `${cuts} cuts, ${stalls} stall, ${refusals} refused resume, ${polls} closes by the server`],
      ["resumes", `${resumes}`],
      ["runs", `${runs} at the server`],
    ],
  );
  return broken.length === 0;
}

async function main() {
  // For `make demo` and `make demo ONCE=1` alike: the demo ends with the call.
  parseArgs({ options: { once: { type: "boolean" } } });
  const server = await createFaultServer();
  const timeline = new Timeline({ total: ITEMS });
  timeline.title(`One tool call of ${ITEMS} items, through scripted network faults`);
  const startedAt = performance.now();
  try {
    const witness = await carry(server, timeline);
    const seconds = (performance.now() - startedAt) / 1000;
    const made = conclude(timeline, witness, server.executions(KEY), seconds);
    process.exitCode = made ? 0 : 1;
  } finally {
    await server.close();
  }
}

await main();
