// The official conformance suite's server scenarios: none is worse through the relay than directly.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { node22 } from "../../../www/build/node24.mjs";
import { serveBefore } from "../stage.mjs";
import { runServerScenarios } from "./suite.mjs";
import { startSuiteServer } from "./suite-server.mjs";

const SCENARIOS = 33;
/** The suite wants a stream to be closed in mid-call as the server closes it: this relay keeps it open. */
const REPORTED = ["server-sse-polling"];
const LOCAL = { HOSTS: "127.0.0.1, localhost, [::1]", ORIGINS: "http://localhost:*, http://127.0.0.1:*" };

describe("the conformance suite's server scenarios", { skip: node22() ? undefined : "no Node 22" }, () => {
  let server;
  let relay;
  let direct;
  let relayed;
  before(async () => {
    server = await startSuiteServer();
    relay = await serveBefore(server.url, { env: LOCAL });
    direct = await runServerScenarios(server.url);
    relayed = await runServerScenarios(relay.url);
  });
  after(async () => {
    await relay?.close();
    await server?.close();
  });

  test("pass at the server that has what they ask for", () => {
    assert.equal(direct.size, SCENARIOS);
    const faults = [...direct].filter(([, { passed, problems }]) => problems.length > 0 || passed.length < 2);
    assert.deepEqual(faults, []);
  });

  test("are the same through the relay, and none does worse", (t) => {
    assert.deepEqual([...relayed.keys()].sort(), [...direct.keys()].sort());
    for (const [scenario, { passed, problems }] of relayed) {
      const missing = direct.get(scenario).passed.filter((name) => !passed.includes(name));
      if (REPORTED.includes(scenario)) t.diagnostic(`${scenario}: ${problems.join("; ") || "passes"}`);
      else assert.deepEqual({ scenario, problems, missing }, { scenario, problems: [], missing: [] });
    }
  });
});
