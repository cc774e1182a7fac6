// Plays the faults to one client with the transport under test: its column of the table.
import { runAll } from "../matrix/run.mjs";
import { faultsOf } from "./faults.mjs";
import { modernSteps, openBehind } from "./modern.mjs";
import { createTransport, explain } from "./transports.mjs";

/** `[{ fault, row }]`; a row is one of the matrix, and has `known`, the landfall outcome, and the `error`. */
export async function runFaults(client, pattern = "") {
  const faults = faultsOf(client.era).filter(({ name }) => name.includes(pattern));
  const [rows] = await runAll([driver(client)], faults);
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
