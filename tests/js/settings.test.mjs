// The options of a session: what the core is given, and what is refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigError } from "../../target/modules/api/errors.js";
import { readSettings } from "../../target/modules/options/settings.js";
import { fakeConnect, fakeSession, noFetch } from "./support/fake-core.mjs";

const address = "https://server.test/mcp";

test("options reach the core under the names it knows", () => {
  const settings = readSettings(`${address}#part`, {
    timeouts: {
      handshakeMs: 1,
      connectMs: 2,
      firstByteMs: 3,
      idleMs: 4,
      callMs: 5,
      recoveryMs: 6,
      deadlineMs: 7,
      handlerMs: 8,
    },
    retry: { baseMs: 9, maxMs: 10, maxReissues: 16 },
    limits: {
      ...{ maxConcurrent: 11, maxQueued: 12, maxEventBytes: 13, maxBodyBytes: 14, maxIdBytes: 15 },
      ...{ maxQuestions: 19, maxBufferedBytes: 20 },
      maxPending: { events: 17, bytes: 18 },
    },
    replay: "caller",
    onGap: "fail",
    onSessionLost: "replace",
    era: "resumable",
    protocolVersions: ["2025-06-18"],
    terminateSessionOnClose: false,
    diagnostics: "full",
    clientInfo: { name: "me", version: "1", title: "Me" },
    capabilities: { roots: {} },
    fetch: noFetch,
  });
  const { seed, ...core } = settings.core();
  assert.deepEqual(core, {
    url: address,
    era: "resumable",
    protocolVersions: ["2025-06-18"],
    clientInfo: '{"name":"me","version":"1","title":"Me"}',
    capabilities: '{"roots":{}}',
    crossOrigin: false,
    ...{ handshakeMs: 1, connectMs: 2, firstByteMs: 3, idleMs: 4, callMs: 5, recoveryMs: 6, deadlineMs: 7 },
    baseMs: 9,
    maxMs: 10,
    maxConcurrent: 11,
    maxQueued: 12,
    maxEventBytes: 13,
    maxBodyBytes: 14,
    maxIdBytes: 15,
    maxQuestions: 19,
    maxBufferedBytes: 20,
    maxReissues: 16,
    maxPendingEvents: 17,
    maxPendingBytes: 18,
    replay: "caller",
    onGap: "fail",
    onSessionLost: "replace",
    tasks: true,
    terminate: false,
    full: true,
  });
  assert.ok(Number.isSafeInteger(seed) && seed >= 0);
  assert.deepEqual([settings.handshakeMs, settings.handlerMs], [1, 8]);
});

test("without options there are defaults, and what is undefined is not given", () => {
  const { seed: _, ...core } = readSettings(address, {
    timeouts: { idleMs: undefined },
    era: undefined,
  }).core();
  assert.deepEqual(
    { ...core, clientInfo: JSON.parse(core.clientInfo).name },
    {
      url: address,
      era: "auto",
      clientInfo: "landfall",
      capabilities: "{}",
      crossOrigin: false,
      tasks: true,
      terminate: true,
      full: false,
    },
  );
  assert.equal(readSettings(address, {}).handshakeMs, 30_000);
  assert.equal(readSettings(address, {}).handlerMs, 30_000);
  assert.equal(readSettings(address, { timeouts: { deadlineMs: 500 } }).handshakeMs, 500);
});

test("a session listens where somebody would hear of it, or where it is told to", () => {
  const listens = (options) => readSettings(address, options).core().listen === true;
  assert.equal(listens({}), false);
  assert.equal(listens({ listen: "auto", onEvent() {} }), true);
  assert.equal(listens({ onRequest: async () => ({}) }), true);
  assert.equal(listens({ listen: true }), true);
  assert.equal(listens({ listen: false, onEvent() {} }), false);
});

const refused = [
  ["url", "not a url", {}],
  ["url", "/mcp", {}],
  ["url", "ftp://server.test/", {}],
  ["url", "https://me:secret@server.test/mcp", {}],
  ["era", address, { era: "old" }],
  ["replay", address, { replay: "always" }],
  ["replay", address, { replay: 5 }],
  ["replay.work", address, { replay: { work: "yes" } }],
  ["callKey", address, { callKey: "key" }],
  ["relay", address, { relay: "yes" }],
  ["onSessionLost", address, { onSessionLost: "retry" }],
  ["isGap", address, { isGap: true }],
  ["onUnknown", address, { onUnknown: "ask" }],
  ["tasks", address, { tasks: "always" }],
  ["listen", address, { listen: "always" }],
  ["store", address, { store: {} }],
  ["authProvider", address, { authProvider: {} }],
  ["authProvider", address, { authProvider: { token() {}, onUnauthorized: true } }],
  ["onGap", address, { onGap: "stop" }],
  ["onevent", address, { onevent() {} }],
  ["sessionId", address, { sessionId: "s" }],
  ["reconnectionScheduler", address, { reconnectionScheduler: 5 }],
  ["timeout", address, { timeout: 5 }],
  ["retry.maxReissues", address, { retry: { maxReissues: "2" } }],
  ["limits.maxPending", address, { limits: { maxPending: 5 } }],
  ["limits.maxPending.calls", address, { limits: { maxPending: { calls: 5 } } }],
  ["limits.maxPending.events", address, { limits: { maxPending: { events: 0 } } }],
  ["limits.maxPending.bytes", address, { limits: { maxPending: { bytes: 1.5 } } }],
  ["timeouts.totalMs", address, { timeouts: { totalMs: 2 } }],
  ["idleMs", address, { timeouts: { idleMs: "2" } }],
  ["handlerMs", address, { timeouts: { handlerMs: -1 } }],
  ["timeouts", address, { timeouts: 5 }],
  ["limits.maxQueued", address, { limits: { maxQueued: null } }],
  ["protocolVersions", address, { protocolVersions: [] }],
  ["protocolVersions", address, { protocolVersions: "2025-06-18" }],
  ["diagnostics", address, { diagnostics: "none" }],
  ["terminateSessionOnClose", address, { terminateSessionOnClose: "no" }],
  ["clientInfo", address, { clientInfo: { name: "me" } }],
  ["capabilities", address, { capabilities: { n: 1n } }],
  ["capabilities", address, { capabilities: [] }],
  ["fetch", address, { fetch: "fetch" }],
  ["onRequest", address, { onRequest: {} }],
  ["onEvent", address, { onEvent: "log" }],
  ["logger", address, { logger: "console" }],
  ["headers", address, { headers: { "bad name": "x" } }],
  ["requestInit", address, { requestInit: 5 }],
  ["requestInit.method", address, { requestInit: { method: "PUT" } }],
  ["requestInit.signal", address, { requestInit: { signal: AbortSignal.abort() } }],
  ["requestInit.headers", address, { requestInit: { headers: { "bad name": "x" } } }],
  ["options", address, 5],
  ["options", address, null],
  ["options", address, []],
  ["options", address, new Map()],
  ["timeouts", address, { timeouts: new Map([["callMs", 5]]) }],
  ["timeouts", address, { timeouts: [] }],
  ["timeouts", address, { timeouts: () => {} }],
  ["limits", address, { limits: new Map() }],
  ["retry", address, { retry: [] }],
  ["requestInit", address, { requestInit: [] }],
  ["requestInit", address, { requestInit: new Map() }],
  ["replay", address, { replay: new Map([["work", true]]) }],
  ["capabilities", address, { capabilities: new Map() }],
  ["headers", address, { headers: 5 }],
  ["headers", address, { headers: ["a"] }],
];

test("an option that is not honoured, or not usable, is refused by a ConfigError that names it", async () => {
  const { connect, cores } = fakeConnect();
  for (const [option, url, options] of refused) {
    const thrown = await connect(url, options).catch((caught) => caught);
    assert.ok(thrown instanceof ConfigError && thrown instanceof TypeError, option);
    assert.equal(thrown.option, option);
    assert.ok(thrown.message.includes(option), thrown.message);
    assert.ok(!thrown.message.includes("secret"));
  }
  assert.equal(cores.length, 0);
});

test("a number that is none is called what it is", () => {
  const message = (callMs) => {
    try {
      readSettings(address, { fetch: noFetch, timeouts: { callMs } });
    } catch (thrown) {
      return thrown.message;
    }
    return undefined;
  };
  assert.match(message(Number.POSITIVE_INFINITY), /finite number, not Infinity$/);
  assert.match(message(Number.NEGATIVE_INFINITY), /not -Infinity$/);
  assert.match(message(Number.NaN), /not NaN$/);
  assert.match(message({}), /not an object$/);
  assert.match(message("5"), /not a string$/);
});

test("a runtime without fetch needs the option", (t) => {
  const { fetch } = globalThis;
  t.after(() => {
    globalThis.fetch = fetch;
  });
  globalThis.fetch = undefined;
  assert.throws(() => readSettings(address, {}), { name: "ConfigError", option: "fetch" });
  readSettings(address, { fetch: noFetch });
});

test("a relative address is relative to the page", (t) => {
  globalThis.location = { href: "https://page.test/app/" };
  t.after(() => {
    delete globalThis.location;
  });
  assert.equal(readSettings("/mcp", { fetch: noFetch }).core().url, "https://page.test/mcp");
});

test("callMs may be a function of the tool's name, of the session and of a call", async () => {
  const callMs = (tool) => (tool === "slow" ? 900 : 100);
  const { session, core } = await fakeSession({ timeouts: { callMs, idleMs: 50 } });
  assert.equal(core.config.callMs, undefined);
  assert.equal(core.config.idleMs, 50);
  session.callTool("slow");
  session.callTool("quick");
  session.callTool("slow", {}, { timeouts: { callMs: () => 7 } });
  session.request("tools/list");
  assert.deepEqual(
    core.called("call").map(([, , spec]) => spec.callMs),
    [900, 100, 7, undefined],
  );
});

test("a callMs that throws, or gives what is no number, is a ConfigError", async () => {
  const thrown = new Error("no");
  const wrong = [
    () => {
      throw thrown;
    },
    () => "900",
    () => undefined,
  ];
  for (const callMs of wrong) {
    for (const clocks of [{ callMs }, undefined]) {
      const { session, core } = await fakeSession(clocks === undefined ? { timeouts: { callMs } } : {});
      assert.throws(
        () => session.callTool("work", {}, clocks === undefined ? {} : { timeouts: clocks }),
        (error) =>
          error instanceof ConfigError && error.option === "callMs" && /function/.test(error.message),
      );
      assert.deepEqual(core.called("call"), []);
    }
  }
});
