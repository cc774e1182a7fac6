// The option `relay`: what a relay of landfall's says of a call that it could not carry through.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ToolCallFailedError } from "../../target/modules/api/errors.js";
import { fakeSession } from "./support/fake-core.mjs";

const member = "io.landfall/failure";
const error = (failure, more) => ({
  ...{ code: -32603, message: "the connection was lost" },
  data: { [member]: failure, ...more },
});

/** What a call is rejected with where the server answers it by this error. */
async function answered(error, options = { relay: true }, callOptions) {
  const { session, core } = await fakeSession(options);
  const call = session.callTool("work", {}, callOptions);
  core.tell([{ out: "settle", call: 1, at: 9, type: "result", message: 0 }], [{ id: 1, error }]);
  const thrown = await call.result.then(assert.fail, (caught) => caught);
  const events = [];
  for await (const event of call) events.push(event);
  return { thrown, last: events.at(-1) };
}

test("an error that tells of a failure behind a relay ends its call as one", async () => {
  const attempts = [{ level: "L1", at: 3, waitMs: 4, result: "empty", events: 0, status: 200 }];
  const told = { reason: "stream_lost", outcome: "unknown", diagnostics: { attempts, lastStatus: 503 } };
  const { thrown, last } = await answered(error(told));
  assert.ok(thrown instanceof ToolCallFailedError);
  assert.equal(last.type, "tool_call_failed");
  const { reason, outcome, retrySafe, tool, diagnostics } = thrown;
  assert.deepEqual([reason, outcome, retrySafe, tool], ["stream_lost", "unknown", false, "work"]);
  assert.deepEqual([diagnostics.attempts, diagnostics.lastStatus], [attempts, 503]);
  assert.match(thrown.message, /the relay says: the connection was lost/);
});

test("that a request was not sent is never believed, and whether it may be made again is judged here", async () => {
  const { thrown } = await answered(error({ reason: "network_error", outcome: "not_sent", retrySafe: true }));
  assert.deepEqual([thrown.outcome, thrown.retrySafe], ["unknown", false]);
  const refused = await answered(error({ reason: "http_error", outcome: "rejected" }));
  assert.deepEqual([refused.thrown.outcome, refused.thrown.retrySafe], ["rejected", true]);
  const safe = await answered(
    error({ reason: "stream_lost", outcome: "unknown", retrySafe: false }),
    undefined,
    {
      idempotent: true,
    },
  );
  assert.equal(safe.thrown.retrySafe, true);
});

test("without the option, and where it tells of no failure that there is, an error is the server's answer", async () => {
  const failure = { reason: "stream_lost", outcome: "unknown" };
  assert.equal((await answered(error(failure), {})).thrown.name, "ServerError");
  for (const odd of [
    null,
    [],
    "stream_lost",
    {},
    { reason: 5 },
    { reason: "toString" },
    { reason: "made_up" },
  ])
    assert.equal((await answered(error(odd))).thrown.name, "ServerError", JSON.stringify(odd));
});

test("of what a relay tells only what has the right shape is passed on", async () => {
  const attempt = { level: "L1", at: 3, waitMs: 4, result: "empty", events: 0 };
  for (const attempts of ["none", [{ ...attempt, level: "L9" }], [{ ...attempt, secret: "s" }], [null]]) {
    const diagnostics = { attempts, lastStatus: "503", bytes: 1.5, session: "stolen", startedAt: "never" };
    const { thrown } = await answered(error({ reason: "stream_lost", outcome: "unknown", diagnostics }));
    assert.deepEqual(thrown.diagnostics.attempts, []);
    assert.equal(thrown.diagnostics.session, undefined);
    assert.equal(thrown.diagnostics.lastStatus, undefined);
    assert.equal(typeof thrown.diagnostics.startedAt, "number");
  }
});
