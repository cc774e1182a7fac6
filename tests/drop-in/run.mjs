// Plays the faults to one client with the transport under test: its column of the table.
import { runAll, runSteadily } from "../matrix/run.mjs";
import { faultsOf } from "./faults.mjs";
import { modernSteps, openBehind } from "./modern.mjs";
import { createTransport, explain } from "./transports.mjs";

/** `[{ fault, row }]`; a row is one of the matrix, and has `known`, the landfall outcome, and the `error`. */
export async function runFaults(client, pattern = "") {
  const faults = faultsOf(client.era).filter(({ name }) => name.includes(pattern));
  const [rows] = await runAll([driver(client)], faults);
  return faults.map((fault, i) => ({ fault, row: rows[i] }));
}

/** The same, of all faults; those that `isExpected(played)` does not take are played again where the machine was starved. */
export async function runFaultsSteadily(client, isExpected) {
  const faults = faultsOf(client.era);
  const play = async (open) => (await runAll([driver(client)], open))[0];
  const accept = (row, fault) => isExpected({ fault, row });
  const rows = await runSteadily(client.name, play, faults, accept);
  return faults.map((fault, i) => ({ fault, row: rows[i] }));
}

const driver = (client) => ({
  name: client.name,
  // Longer than any bound of the table, and than the clients' own timers.
  observeMs: 11_000,
  explain: (error) => explain(client, error),

  async open(url, fault) {
    const isModern = client.era === "modern";
    if (isModern) await openBehind(url);
    const options = fault.timeouts ? { timeouts: fault.timeouts } : {};
    const session = await client.open(createTransport(client, url, options));
    // What a tool says of itself is heard where the list passes.
    await session.list();
    return {
      close: () => session.close(),
      call(name, { key, steps }) {
        const args = { key, steps: isModern ? modernSteps(steps) : steps };
        const isFaulty = key === fault.name;
        return session.call(
          isFaulty ? (fault.tool ?? name) : name,
          isFaulty ? { ...args, post: fault.post } : args,
        );
      },
    };
  },
});
