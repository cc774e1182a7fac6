// What the tests of the packed package share: the installed package, a fault server, and what a carried call shows.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { createFaultServer } from "../server/server.mjs";
import { installed } from "./tarball.mjs";

/** The installed package and the fault server of a test file, from its first test to its last. */
export function workshop() {
  const shop = {};
  before(async () => {
    [shop.package, shop.server] = await Promise.all([installed(), createFaultServer()]);
  });
  after(() => Promise.all([shop.package?.remove(), shop.server?.close()]));

  shop.assertCarried = (key, outcome) => assertCarried(shop.server, key, outcome);
  return shop;
}

/** A call made landfall: its tool ran once, its stream was cut once and resumed once, as the server counts it. */
export function assertCarried({ log, executions }, key, { events, execution, error }) {
  assert.equal(error, undefined);
  const told = ["one", "disconnected", "resumed", "two", "result"];
  assert.deepEqual(events.filter((event) => told.includes(event)).sort(), told.sort());
  assert.equal(events.at(-1), "result");
  assert.equal(execution, 1);
  const requests = log.filter((line) => line.key === key);
  assert.deepEqual(
    requests.map(({ method, cut, lastEventId }) => [method, cut ?? "", lastEventId !== undefined]),
    [
      ["POST", "rst", false],
      ["GET", "", true],
    ],
  );
  assert.equal(executions(key), 1);
}
