// Plays the scenarios against a server, over each client: those that share a server side by side, the others one after
// the other with a server that they may kill.
import { CLIENTS } from "./clients.mjs";
import { startFront } from "./fronts.mjs";
import { SCENARIOS } from "./scenarios.mjs";
import { openStage } from "./stage.mjs";
import { start } from "./start.mjs";

/** Each compiles the module, and all do so on one machine with the server. */
const AT_ONCE = 6;

export const scenariosOf = ({ front, without = [] }) =>
  SCENARIOS.filter(({ name, fronts }) => !without.includes(name) && (!fronts || front));

/** A list of `{ scenario, client, lines, expected, ms }`. */
export async function playAll(kind) {
  const plays = scenariosOf(kind).flatMap((scenario) => CLIENTS.map((client) => ({ scenario, client })));
  const alone = plays.filter(({ scenario }) => scenario.alone);
  const together = plays.filter(({ scenario }) => !scenario.alone);
  const rows = await Promise.all([
    withServer(kind, (server) => eachOf(together, kind.atOnce ?? AT_ONCE, (one) => play(kind, server, one))),
    withServer(kind, (server) => eachOf(alone, 1, (one) => play(kind, server, one))),
  ]);
  const all = rows.flat();
  return plays.map((one) =>
    all.find(({ scenario, client }) => one.scenario === scenario && one.client === client),
  );
}

async function eachOf(list, atOnce, use) {
  const waiting = [...list];
  const done = [];
  const worker = async () => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) done.push(await use(one));
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return done;
}

async function withServer(kind, use) {
  const running = await start(kind);
  try {
    const front = kind.front ? await startFront(kind.front, running.port) : undefined;
    try {
      return await use({ running, upstream: front?.url ?? running.url });
    } finally {
      await front?.stop();
    }
  } finally {
    await running.stop();
  }
}

async function play(kind, { running, upstream }, { scenario, client }) {
  const expected = kind.differs?.[scenario.name] ?? scenario.expected;
  const started = performance.now();
  const done = (lines) => ({ scenario, client, lines, expected, ms: performance.now() - started });
  let stage;
  try {
    stage = await openStage({ kind, running, upstream, client, scenario });
    return done(await scenario.play(stage));
  } catch (error) {
    return done([`${error.name}: ${error.message}`]);
  } finally {
    await stage?.close();
  }
}
