// A short load: what holds of every call while faults strike many at once. How fast that is, `make load` says.
import assert from "node:assert/strict";
import { timed } from "../support/timed.mjs";
// Before the client: it watches which instances are made.
import "./memory.mjs";
import { landfall } from "./clients.mjs";
import { FAULTS } from "./plan.mjs";
import { startServer } from "./remote.mjs";
import { faultsOf, storm } from "./storm.mjs";

/** Under this seed each of the faults strikes. */
const short = { seed: 4, calls: 300, seconds: 2, atOnce: 150 };

timed(
  "300 calls, 150 at once, through faults: each settles, no event is lost, no tool runs twice, nothing is left",
  async () => {
    const server = await startServer();
    try {
      const run = await storm(landfall, server, short);
      assert.deepEqual(faultsOf(run), [], JSON.stringify(run.faults));
      assert.ok(run.storm.answered > 200, JSON.stringify(run.storm.endings));
      assert.deepEqual(Object.keys(run.faults).sort(), Object.keys(FAULTS).sort());
    } finally {
      await server.stop();
    }
  },
);
