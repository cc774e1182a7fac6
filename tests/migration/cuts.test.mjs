// The same programs behind a proxy that cuts: what comes of each call over our transport is stated here; what comes of it
// over the SDK's own is only told.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createCuttingProxy } from "../interop/proxy.mjs";
import { PROGRAMS } from "./programs.mjs";
import { SDKS } from "./sdks.mjs";
import { SERVERS } from "./servers.mjs";
import { SUBJECT, transportClass } from "./transports.mjs";

/** How long a call over the SDK's own may take: where it is lost, the SDK's default of a minute is long to wait for. */
const PATIENCE_MS = 2_500;

const LINES = [1, 2, 3, 4, 5].flatMap((line) => [`${line}/5`, `line ${line}`]);
const ITEMS = [1, 2, 3, 4, 5, 6].flatMap((item) => [
  `[${item}/6] item ${item}`,
  ...(item === 2 || item === 4 ? [`checkpoint at item ${item}`] : []),
]);
const PROGRESS = [1, 2, 3, 4, 5];

/** Between two events, by a reset, and inside an event. */
const THREE_CUTS = [
  { after: 2, how: "fin" },
  { after: 5, how: "rst" },
  { after: 7, how: "fin", inside: true },
];
/** The second comes before the first resume has brought anything, and so does the third. */
const CUT_AGAIN = ["rst", "fin", "rst"].map((how) => ({ after: 2, how }));
const ONE_CUT = [{ after: 2, how: "rst" }];

/** In a session a cut stream is resumed: the call goes on, and nothing is missing or doubled. */
const RESUMED = [
  {
    program: "streaming",
    how: "cut three times",
    faults: THREE_CUTS,
    expected: { seen: LINES, result: "5 lines" },
  },
  {
    program: "streaming",
    how: "cut again while resuming",
    faults: CUT_AGAIN,
    expected: { seen: LINES, result: "5 lines" },
  },
  {
    program: "polling",
    how: "cut three times as well",
    faults: [ONE_CUT[0], { after: 4, how: "fin" }, { after: 6, how: "fin", inside: true }],
    expected: { seen: ITEMS, result: "6 items processed" },
  },
  {
    // It is not asked again, and the answer counts.
    program: "elicitation",
    how: "cut after the question",
    faults: [{ after: 1, how: "rst" }],
    expected: { questions: ["Which colour?"], result: "green" },
  },
  {
    program: "parallel",
    how: "each cut three times",
    faults: THREE_CUTS,
    expected: Array.from({ length: 10 }, () => ({ seen: PROGRESS, result: "5 lines" })),
  },
];

/** At 2026-07-28 a cut stream is gone: what may be done twice is, and all else fails at once and says why. */
const LOST = [
  {
    program: "streaming",
    tool: "recite",
    how: "a tool that only reads, cut",
    faults: ONE_CUT,
    executions: 2,
    check: ({ result }) => assert.equal(result, "5 lines"),
  },
  {
    program: "streaming",
    tool: "narrate",
    how: "any other tool, cut",
    faults: ONE_CUT,
    executions: 1,
    check: (error) => {
      assert.equal(error.name, "ToolCallFailedError");
      assert.equal(error.reason, "stream_lost");
      assert.equal(error.outcome, "unknown");
    },
  },
];

const unhandled = [];
const note = (thrown) => unhandled.push(thrown);
process.on("unhandledRejection", note).on("uncaughtException", note);
after(() => assert.deepEqual(unhandled, []));

const keysOf = (key, program) =>
  program === "parallel" ? Array.from({ length: 10 }, (_, n) => `${key} ${n}`) : [key];

/** A server behind the proxy, where a program is played with faults ahead. */
function behindProxy({ start }) {
  const plans = new Map();
  let server;
  let proxy;
  before(async () => {
    server = await start();
    proxy = await createCuttingProxy({ upstream: server.url, plan: (key) => plans.get(key) ?? [] });
  });
  after(async () => {
    await proxy?.close();
    await server?.stop();
  });
  return {
    /** What the program saw, or the error that it ended with. */
    async play(transport, sdk, { program, tool, faults }, { key, timeout }) {
      const Transport = await transportClass(transport, sdk.sdk);
      for (const one of keysOf(key, program)) plans.set(one, faults);
      const open = () => new Transport(new URL(proxy.url));
      return PROGRAMS[program](sdk, open, { tool, key, call: { timeout } }).catch((error) => error);
    },
    /** For each call of it, how often it ran, and how many faults struck it. */
    async happened(key, program) {
      const keys = keysOf(key, program);
      const executions = await Promise.all(keys.map((one) => server.executions(one)));
      return keys.map((one, n) => ({
        executions: executions[n],
        struck: proxy.faults.filter((fault) => fault.key === one).length,
      }));
    },
  };
}

const told = (end) =>
  end instanceof Error ? `${end.name}: ${end.message}` : JSON.stringify(end).slice(0, 200);

function testCut(stage, { oneAtATime }, sdk, fault) {
  const { program, how, faults, expected, executions = 1 } = fault;
  const name = `${sdk.name}: ${program}, ${how}`;
  test(name, async (t) => {
    const theirs = stage.play("official", sdk, fault, { key: `theirs ${name}`, timeout: PATIENCE_MS });
    // What is not resumed asks for no stored events.
    if (oneAtATime && expected) await theirs;
    const key = `ours ${name}`;
    const end = await stage.play(SUBJECT, sdk, fault, { key });
    t.diagnostic(`the official transport: ${told(await theirs)}`);
    if (expected) assert.deepEqual(end, expected);
    else fault.check(end);
    // A tool that only asks counts nothing.
    const counted = program === "elicitation" ? 0 : executions;
    for (const call of await stage.happened(key, program)) {
      assert.deepEqual(call, { executions: counted, struck: faults.length });
    }
  });
}

/** The streams that belong to no call; only a server in this process can be told to cut them. */
function testListening(server, sdk) {
  test(`${sdk.name}: listening, cut`, async (t) => {
    const heard = async (transport, key) => {
      const Transport = await transportClass(transport, sdk.sdk);
      const disturb = () => assert.ok(server().cutListeners() > 0);
      return PROGRAMS.listening(sdk, () => new Transport(new URL(server().url)), { key, disturb });
    };
    const theirs = await heard("official", `theirs ${sdk.name}`);
    t.diagnostic(`the official transport: ${told(theirs)}`);
    assert.deepEqual(await heard(SUBJECT, `ours ${sdk.name}`), { before: true, after: true });
  });
}

// The official transports lose what is stated here, so over them there is nothing to test.
for (const server of SUBJECT === "official" ? [] : SERVERS) {
  const concurrency = server.oneAtATime ? 1 : 4;
  const sdks = SDKS.filter(({ needsModern }) => server.isModern || !needsModern);
  describe(`${server.name} server, cut`, { concurrency, timeout: 120_000 }, () => {
    const stage = behindProxy(server);
    for (const sdk of sdks) {
      for (const fault of sdk.speaksModern && server.isModern ? LOST : RESUMED)
        testCut(stage, server, sdk, fault);
    }
  });
  if (server.name === "Python") continue;
  describe(`${server.name} server, its listeners cut`, { timeout: 60_000 }, () => {
    let running;
    before(async () => {
      running = await server.start();
    });
    after(() => running?.stop());
    for (const sdk of sdks) testListening(() => running, sdk);
  });
}
