// Small promises of a call and of its options that nothing else would miss: each test was written after a deliberate break
// of what it states had passed all others (tests/mutants).
import assert from "node:assert/strict";
import { test } from "node:test";
import { runInNewContext } from "node:vm";
import { noMetrics, Uncounted } from "../../target/modules/call/metrics.js";
import { OutcomeResolver } from "../../target/modules/call/outcome-resolver.js";
import { CallRecord } from "../../target/modules/call/record.js";
import { compile, gunzip } from "../../target/modules/core/compile.js";
import { readSettings } from "../../target/modules/options/settings.js";
import { readState } from "../../target/modules/options/state.js";
import { fakeSession, noFetch, turn } from "./support/fake-core.mjs";

const address = "https://server.test/mcp";
const nothing = () => {};

test("what a failure says already is not said twice", async () => {
  const { session, core } = await fakeSession({ headers: () => Promise.reject(new Error("no key")) });
  const call = session.callTool("work");
  await core.open(1, { call: 1 }).catch(nothing);
  const text = "the request was not sent: headers() threw: no key";
  core.fail(1, { reason: "network_error", outcome: "not_sent", text });
  await assert.rejects(call.result, ({ message }) => message.split("no key").length === 2);
});

test("what the wrapper counts is told apart by reason and outcome, and changes nothing of the core's", () => {
  const uncounted = new Uncounted();
  for (const outcome of ["not_sent", "unknown", "unknown"]) uncounted.count({ reason: "closed", outcome });
  const given = { ...noMetrics(), calls: 1, failed: { closed: 1 } };
  for (let time = 0; time < 2; time += 1) {
    const { calls, failed, outcomes } = uncounted.addTo(given, false);
    assert.deepEqual([calls, failed], [4, { closed: 4 }]);
    assert.deepEqual(outcomes, { not_sent: 1, rejected: 0, unknown: 2 });
  }
  assert.deepEqual(given, { ...noMetrics(), calls: 1, failed: { closed: 1 } });
});

test("whoever is not to be asked any more is not asked, and nothing is logged of it", async () => {
  const asked = [];
  const logged = [];
  const onUnknown = (call) => asked.push(call);
  const resolver = new OutcomeResolver({ onUnknown, log: { threw: (what) => logged.push(what) } });
  const told = [];
  const stop = resolver.ask({ method: "tools/call" }, 1_000, (result) => told.push(result));
  stop();
  await turn();
  assert.deepEqual([asked, logged, told], [[], [], [undefined]]);
});

/** A call without a core: what its sink was told of. */
function lone() {
  const told = [];
  const sink = { event: ({ type }) => told.push(type), answered: () => told.push("answered") };
  const origin = { id: 1, method: "tools/call", tool: "work", isSafe: false, startedAt: 1 };
  return { record: new CallRecord(origin, sink, nothing), told };
}

test("a call that waits for what the application knows has no deadline any more", () => {
  const { record } = lone();
  let cleared = 0;
  const deadline = { clear: () => (cleared += 1) };
  record.guard(deadline, { deadlineMs: 1, connectMs: 1 });
  record.ask(nothing);
  assert.equal(cleared, 1);
});

test("a failure that the wrapper tells has the repeats of all resumes", () => {
  const { record } = lone();
  for (const duplicates of [2, 0, 3]) record.event({ type: "resumed", at: 1, duplicates });
  assert.equal(record.diagnostics(9).duplicates, 5);
});

test("a call that has its outcome tells no event", () => {
  const { record, told } = lone();
  record.event({ type: "queued", at: 1 });
  record.answer({ type: "result", at: 2, result: {} });
  record.event({ type: "progress", at: 3, progress: 1 });
  assert.deepEqual(told, ["queued", "answered"]);
  assert.equal(record.diagnostics(9).events, 0);
});

test("an option that is the session's, or of another kind, is refused by its name", async () => {
  const { session } = await fakeSession();
  for (const name of ["handlerMs", "handshakeMs"])
    assert.throws(() => session.callTool("work", {}, { timeouts: { [name]: 5 } }), { option: name });
  const settings = (options, url = address) => readSettings(url, { fetch: noFetch, ...options });
  assert.throws(() => settings({ logger: [] }), { name: "ConfigError", option: "logger" });
  assert.throws(() => settings({}, "https://:secret@server.test/mcp"), {
    name: "ConfigError",
    option: "url",
  });
});

test("what is done to options after they were given changes nothing", () => {
  const options = { fetch: noFetch, protocolVersions: ["2025-06-18"], replay: { work: true } };
  const settings = readSettings(address, options);
  options.protocolVersions.push("2025-03-26");
  options.replay.work = false;
  assert.deepEqual(settings.core().protocolVersions, ["2025-06-18"]);
  assert.equal(settings.replay.work, true);
});

test("a state of another path, of no known era, or with a version that is none is refused", () => {
  const state = { version: 1, endpoint: address, era: "legacy", protocolVersion: "2025-11-25" };
  assert.equal(readState(state, address).protocolVersion, "2025-11-25");
  const refused = [
    [{ endpoint: "https://server.test/other" }, /another endpoint/],
    [{ era: "old" }, /era that can't be used/],
    [{ protocolVersion: "2025-11-25\r\nx: y" }, /protocolVersion that can't be used/],
    [{ protocolVersion: "v2025-11-25" }, /protocolVersion that can't be used/],
  ];
  for (const [more, said] of refused)
    assert.throws(() => readState({ ...state, ...more }, address), { name: "ConfigError", message: said });
});

test("a module of another realm is one, and zlib needs no stream", async (t) => {
  const bytes = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0);
  const foreign = runInNewContext("new WebAssembly.Module(bytes)", { bytes });
  assert.ok(!(foreign instanceof WebAssembly.Module));
  assert.equal(await compile(foreign), foreign);
  const { gzipSync } = await import("node:zlib");
  const { DecompressionStream } = globalThis;
  t.after(() => Object.assign(globalThis, { DecompressionStream }));
  globalThis.DecompressionStream = undefined;
  assert.deepEqual(new Uint8Array(await gunzip(gzipSync(bytes))), bytes);
});

test("a call that was to go on with a stream was sent by whoever began that, also where no core hears of it", async () => {
  const { session } = await fakeSession();
  const outcomes = async (signal) => {
    const thrown = [{}, { resumptionToken: "k1" }, { resumptionToken: "k1", idempotent: true }].map(
      (options) => session.callTool("work", {}, { ...options, signal }).result.catch((caught) => caught),
    );
    return (await Promise.all(thrown)).map(({ outcome, retrySafe }) => [outcome, retrySafe]);
  };
  const expected = [
    ["not_sent", true],
    ["unknown", false],
    ["unknown", true],
  ];
  assert.deepEqual(await outcomes(AbortSignal.abort()), expected);
  assert.deepEqual(session.metrics().outcomes, { not_sent: 1, rejected: 0, unknown: 2 });
  await session.close();
  assert.deepEqual(await outcomes(undefined), expected);
});
