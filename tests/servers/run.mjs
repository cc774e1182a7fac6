// Plays the scenarios against a server, over each client: those that share a server side by side, the others one after
// the other with a server that they may kill.
import { CLIENTS } from "./clients.mjs";
import { startFront } from "./fronts.mjs";
import { SCENARIOS } from "./scenarios.mjs";
import { openStage } from "./stage.mjs";
import { start } from "./start.mjs";
import { within } from "./within.mjs";

/** Each compiles the module, and all do so on one machine with the server. */
const AT_ONCE = 6;

/** What takes longer hangs, and fails its row: beyond what any call, scenario or end takes on a busy machine. */
const BOUNDS = { callMs: 90_000, playMs: 150_000, closeMs: 15_000 };

export const scenariosOf = ({ front, without = [] }) =>
  SCENARIOS.filter(({ name, fronts }) => !without.includes(name) && (!fronts || front));

/**
 * A list of `{ scenario, client, lines, expected, ms }`. Nothing is thrown: a server that does not start, and what hangs,
 * are lines of the rows that they befell.
 */
export async function playAll(
  kind,
  { clients = CLIENTS, scenarios = scenariosOf(kind), bounds = BOUNDS } = {},
) {
  const plays = scenarios.flatMap((scenario) => clients.map((client) => ({ scenario, client })));
  const alone = plays.filter(({ scenario }) => scenario.alone);
  const together = plays.filter(({ scenario }) => !scenario.alone);
  const rowsOf = (list, atOnce) =>
    withServer(kind, list, (server) => eachOf(list, atOnce, (one) => play(kind, server, one, bounds)));
  const rows = await Promise.all([rowsOf(together, AT_ONCE), rowsOf(alone, 1)]);
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

async function withServer(kind, plays, use) {
  if (plays.length === 0) return [];
  let running;
  let front;
  try {
    running = await start(kind);
    if (kind.front) front = await startFront(kind.front, running.port);
    return await use({ running, upstream: front?.url ?? running.url });
  } catch (error) {
    return plays.map((one) => row(kind, one, [`not started: ${saidBy(error)}`], 0));
  } finally {
    await front?.stop();
    await running?.stop();
  }
}

const saidBy = ({ name, message }) => `${name}: ${message.replaceAll(/\s+/g, " ").slice(0, 300)}`;

function row(kind, { scenario, client }, lines, ms) {
  const expected = kind.differs?.[scenario.name] ?? scenario.expected;
  return { scenario, client, lines, expected, ms };
}

async function play(kind, { running, upstream }, { scenario, client }, bounds) {
  const started = performance.now();
  const lines = [];
  let stage;
  const playing = async () => {
    stage = await openStage({ kind, running, upstream, client, scenario, bounds });
    lines.push(...(await scenario.play(stage)));
  };
  try {
    await within(bounds.playMs, "the scenario did not end", playing());
  } catch (error) {
    lines.push(saidBy(error));
  }
  const ms = performance.now() - started;
  try {
    await stage?.close();
  } catch (error) {
    lines.push(saidBy(error));
  }
  return row(kind, { scenario, client }, lines, ms);
}
