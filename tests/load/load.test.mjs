// A short load: what holds of every call while faults strike many at once. How fast that is, `make load` says.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import * as clients from "./clients.mjs";
import { startServer } from "./remote.mjs";
import { faultsOf, storm } from "./storm.mjs";

const SEED = 12;

let server;
before(async () => {
  server = await startServer();
});
after(() => server?.stop());

test("400 calls, 100 at once, through faults: each settles, no event is lost, no tool runs twice, nothing is left", async () => {
  const run = await storm(clients.landfall, server, { seed: SEED, calls: 400, seconds: 4, atOnce: 100 });
  assert.deepEqual(faultsOf(run), [], JSON.stringify(run.faults));
  assert.ok(run.storm.answered > 300, JSON.stringify(run.storm.endings));
  assert.ok(Object.keys(run.faults).length > 10, "most faults struck");
});
