// Every fault through every client: the caller's own promise settles, for the right reason, before any timer of the
// client's, and the tool runs as often as it may.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { differences } from "../matrix/report.mjs";
import { clients } from "./clients/all.mjs";
import { faultsOf } from "./faults.mjs";
import { runFaultsSteadily } from "./run.mjs";
import { misleading } from "./texts.mjs";
import { ours } from "./transports.mjs";

/** Two clients run side by side, so that the bounds of the matrix, where one runs, need this much more. */
const LOAD_MS = 2_000;

/** How a row differs from what is expected, in what the caller learns of the execution too. */
function differencesOf({ fault, row }) {
  const { outcome, known = "unknown", atMostMs } = fault.expected;
  const list = differences(row, { expected: { ...fault.expected, atMostMs: atMostMs + LOAD_MS } });
  if (outcome !== "failed") return list;
  if (row.known !== known) list.push(`the outcome is ${row.known}, not ${known}`);
  return [...list, ...misleading(row.error.message, ...statusesOf(fault))];
}

const play = (client) => runFaultsSteadily(client, (played) => differencesOf(played).length === 0);

/** The statuses that a script has the client meet. */
const statusesOf = (fault) => (JSON.stringify(fault).match(/\b[45]\d\d\b/g) ?? []).map(Number);

describe("every fault settles the caller's promise", ours, () => {
  const unhandled = [];
  const note = (thrown) => unhandled.push(thrown);
  let columns;
  before(async () => {
    process.on("unhandledRejection", note).on("uncaughtException", note);
    columns = [];
    for (let i = 0; i < clients.length; i += 2) {
      columns.push(...(await Promise.all(clients.slice(i, i + 2).map(play))));
    }
  });
  after(() => process.off("unhandledRejection", note).off("uncaughtException", note));

  for (const [i, client] of clients.entries()) {
    describe(client.name, () => {
      for (const [j, { name }] of faultsOf(client.era).entries()) {
        test(name, () => assert.deepEqual(differencesOf(columns[i][j]), []));
      }
    });
  }
  test("nothing is left unhandled", () => assert.deepEqual(unhandled, []));
});
