// landfall's column of the matrix, and that the rivals' drivers work where nothing is broken.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { aiSdk } from "./clients/ai-sdk.mjs";
import { landfall } from "./clients/landfall.mjs";
import { sdkV1 } from "./clients/sdk-v1.mjs";
import { sdkV2 } from "./clients/sdk-v2.mjs";
import { FAULTS } from "./faults.mjs";
import { differences, markdown } from "./report.mjs";
import { runAll, runSteadily } from "./run.mjs";

const isExpected = (row, fault) => differences(row, fault).length === 0;

describe("landfall settles every fault, for the right reason, in time", () => {
  const unhandled = [];
  const note = (thrown) => unhandled.push(thrown);
  let rows;
  before(async () => {
    process.on("unhandledRejection", note).on("uncaughtException", note);
    rows = await runSteadily(
      landfall.name,
      async (faults) => (await runAll([landfall], faults))[0],
      FAULTS,
      isExpected,
    );
  });
  after(() => process.off("unhandledRejection", note).off("uncaughtException", note));

  for (const [i, fault] of FAULTS.entries()) {
    test(fault.name, () => assert.deepEqual(differences(rows[i], fault), []));
  }
  test("nothing is left unhandled", () => assert.deepEqual(unhandled, []));
});

const plain = {
  name: "no fault",
  steps: [{ prime: true }, { message: "working" }],
  expected: { outcome: "answer", atLeastMs: 0, atMostMs: 2_000 },
};
describe("every client answers where nothing is broken", () => {
  const clients = [landfall, sdkV1, sdkV2, aiSdk];
  let columns;
  before(async () => {
    const one = (client) => async (faults) => (await runAll([client], faults))[0];
    columns = await Promise.all(
      clients.map((client) => runSteadily(client.name, one(client), [plain], isExpected)),
    );
  });
  for (const [i, { name }] of clients.entries()) {
    test(name, () => assert.deepEqual(differences(columns[i][0], plain), []));
  }
});

test("a row that is not as expected is told, and shown", () => {
  const fault = {
    name: "cut",
    expected: { outcome: "answer", atLeastMs: 500, atMostMs: 1_000 },
    hint: { text: "1 h" },
  };
  const row = {
    outcome: "failed",
    reason: "gap",
    ms: 400,
    executions: 2,
    resumes: 99,
    resumesAfter: 1,
    comebackMs: 3,
  };
  assert.deepEqual(differences(row, fault), [
    "failed gap, not answer",
    "after 400 ms, which is less than 500",
    "the tool ran 2 times, not 1",
    "it came back after 3 ms, before it might",
    "99 resumes",
    "1 resumes after the outcome",
  ]);
  assert.deepEqual(
    differences({ ...row, outcome: "pending", reason: undefined, ms: 9_000 }, fault).slice(0, 2),
    ["pending, not answer", "after 9000 ms, which is more than 1000"],
  );
  const table = markdown([{ name: "ours", rows: [row] }], [fault]);
  assert.equal(
    table,
    "| fault | ours |\n| --- | --- |\n" +
      "| cut | `gap`, 0.4 s; tool ran 2 times; came back after 3 ms, not 1 h; then 1 more GET |",
  );
});
