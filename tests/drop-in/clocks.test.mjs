// Time without waiting: timers, clocks and the network are the test's own. A Client has a timer; landfall's defaults
// end no call before it, and the AI SDK, which has none, gets landfall's.
import assert from "node:assert/strict";
import { afterEach, before, beforeEach, describe, mock, test } from "node:test";
import { eventStream, stubServer } from "../js/support/stub-server.mjs";
import "./timers.mjs";
import { aiSdk1, aiSdk2, sdkV1, sdkV2Legacy } from "./clients/all.mjs";
import { createTransport, landfall, ours } from "./transports.mjs";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** Short enough that no timer seems to have slept. */
const STEP = 5 * SECOND;
const URL_OF_STUB = "http://127.0.0.1/mcp";

/** What can't be had without time, in nanoseconds. */
const PATIENCE_NS = 20_000_000_000n;

let elapsed;
// The module is compiled in true time, once per entry.
before(async () => {
  const { fetch } = stubServer(() => undefined);
  for (const client of [sdkV1, sdkV2Legacy, aiSdk1, aiSdk2]) {
    const transport = createTransport(client, URL_OF_STUB, { fetch });
    await transport.start?.();
    await transport.close?.();
  }
});
beforeEach(() => {
  elapsed = 0;
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"], now: 1_000_000_000_000 });
  mock.method(performance, "now", () => 1_000 + elapsed);
});
afterEach(() => {
  mock.timers.reset();
  mock.restoreAll();
});

/** Lets everything happen that needs no time. */
async function settle() {
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Lets time go by, in steps; `during` is called before each. */
async function pass(ms, during = () => {}) {
  await settle();
  for (const end = elapsed + ms; elapsed < end; ) {
    during();
    const step = Math.min(STEP, end - elapsed);
    elapsed += step;
    mock.timers.tick(step);
    await settle();
    // What a whole step made late is judged by a timer of its own.
    mock.timers.tick(1);
    await settle();
  }
}

/** A promise's outcome so far. */
function watch(promise) {
  const seen = {};
  promise.then(
    (value) => Object.assign(seen, { value }),
    (error) => Object.assign(seen, { error }),
  );
  return seen;
}

/**
 * A session of `client` with a server that does what `calls` says of tools/call, and `pings` of ping. `options` are the
 * transport's, `more` the client's.
 */
async function open(client, calls, { pings, options = {}, more = {} } = {}) {
  const stub = stubServer(({ method, body }) => {
    if (method === "GET") return new Response(null, { status: 405 });
    if (body?.method === "tools/call") return calls(body);
    if (body?.method === "ping") return pings?.(body);
    if (body?.method !== "tools/list") return undefined;
    const tools = [{ name: "slow", inputSchema: { type: "object" } }];
    return { jsonrpc: "2.0", id: body.id, result: { tools } };
  });
  const transport = createTransport(client, URL_OF_STUB, { fetch: stub.fetch, ...options });
  const opening = watch(client.open(transport, more));
  const until = process.hrtime.bigint() + PATIENCE_NS;
  while (!("value" in opening) && !opening.error && process.hrtime.bigint() < until) await settle();
  if (!opening.value) throw opening.error ?? new Error("no session");
  return { session: opening.value, stub };
}

const answerTo = ({ id }) => ({
  jsonrpc: "2.0",
  id,
  result: { content: [{ type: "text", text: "at last" }] },
});
const hang = () => new Promise(() => {});

/** Ways to be silent for long; `begin` answers the POST, `speak` ends the silence. */
const SILENCES = {
  "no headers before the answer": () => {
    let speak;
    const promise = new Promise((resolve) => {
      speak = resolve;
    });
    return { begin: () => promise, speak: (call) => speak(answerTo(call)) };
  },
  "a stream with heartbeats": () => {
    const stream = eventStream();
    return {
      begin: () => stream.response,
      during: () => stream.isCancelled || stream.raw(": still here\n\n"),
      speak: (call) => stream.event(answerTo(call)),
    };
  },
  "a silent stream, and a server that answers pings": () => {
    const stream = eventStream();
    return { begin: () => stream.response, speak: (call) => stream.event(answerTo(call)) };
  },
  "a silent stream, and a server too busy for pings": () => {
    const stream = eventStream();
    return { begin: () => stream.response, speak: (call) => stream.event(answerTo(call)), pings: hang };
  },
};

for (const client of [sdkV1, sdkV2Legacy]) {
  describe(`a tool silent for half an hour answers a Client that waits an hour: ${client.name}`, () => {
    for (const [name, silence] of Object.entries(SILENCES)) {
      test(name, async () => {
        const { begin, during, speak, pings } = silence();
        let call;
        const { session } = await open(
          client,
          (body) => {
            call = body;
            return begin();
          },
          { pings },
        );
        const seen = watch(session.call("slow", {}, { timeout: HOUR }));
        await pass(30 * MINUTE, during);
        assert.deepEqual(seen, {});
        speak(call);
        await settle();
        assert.equal(seen.value?.content[0].text, "at last", String(seen.error));
      });
    }
  });

  describe(client.name, () => {
    test("a Client's own timer ends the call", async () => {
      const { begin } = SILENCES["a silent stream, and a server that answers pings"]();
      const { session } = await open(client, begin);
      const seen = watch(session.call("slow", {}, { timeout: MINUTE }));
      await pass(MINUTE + STEP);
      assert.match(String(seen.error), /timed out/);
    });

    test("a Client that would wait for two hours hears of landfall's deadline after one", ours, async () => {
      const { begin, during } = SILENCES["a stream with heartbeats"]();
      const { session } = await open(client, begin);
      const seen = watch(session.call("slow", {}, { timeout: 2 * HOUR }));
      await pass(HOUR - MINUTE, during);
      assert.deepEqual(seen, {});
      await pass(2 * MINUTE, during);
      assert.equal(seen.error?.reason, "deadline_exceeded");
    });

    test("clocks that were set apply", ours, async () => {
      const { begin } = SILENCES["no headers before the answer"]();
      const options = { timeouts: { callMs: 20 * SECOND, recoveryMs: 30 * SECOND } };
      const { session } = await open(client, begin, { options });
      const seen = watch(session.call("slow", {}, { timeout: HOUR }));
      await pass(25 * SECOND);
      assert.ok(seen.error instanceof landfall.ToolCallFailedError, String(seen.error));
      assert.match(seen.error.reason, /^(first_byte|call)_timeout$/);
    });
  });
}

/** A tool whose progress the test tells, under the token that its request came with. */
function telling() {
  const stream = eventStream();
  let call;
  let progress = 0;
  const begin = (body) => {
    call = body;
    return stream.response;
  };
  const tell = () => {
    if (stream.isCancelled) return;
    progress += 1;
    const { progressToken } = call.params._meta;
    stream.event({ method: "notifications/progress", params: { progressToken, progress } });
  };
  /** Tells of progress every four seconds. */
  const work = async (ms) => {
    for (const end = elapsed + ms; elapsed < end; ) {
      await pass(4 * SECOND);
      tell();
    }
    await settle();
  };
  return { begin, work, ask: (message) => stream.event(message), answer: () => stream.event(answerTo(call)) };
}

for (const client of [sdkV1, sdkV2Legacy]) {
  describe(`progress, and ${client.name}`, () => {
    const clocks = { idleMs: 50 * SECOND, callMs: 12 * SECOND, recoveryMs: 13 * SECOND };

    test("sdkRequestOptions let landfall's clocks come first, and progress extend them", ours, async () => {
      const timeouts = { ...clocks, deadlineMs: 40 * SECOND };
      const options = landfall.sdkRequestOptions(timeouts);
      assert.ok(options.timeout > timeouts.deadlineMs && options.maxTotalTimeout >= options.timeout);
      assert.equal(options.resetTimeoutOnProgress, true);
      const tools = [telling(), telling(), telling()];
      let begun = 0;
      const { session } = await open(client, (body) => tools[begun++].begin(body), { options: { timeouts } });
      const silent = watch(session.call("slow", {}, options));
      await pass(11 * SECOND);
      assert.deepEqual(silent, {});
      await pass(2 * SECOND);
      assert.equal(silent.error?.name, "ToolCallFailedError");
      assert.equal(silent.error.reason, "call_timeout");
      const busy = watch(session.call("slow", {}, options));
      await settle();
      await tools[1].work(30 * SECOND);
      assert.deepEqual(busy, {});
      tools[1].answer();
      await settle();
      assert.equal(busy.value?.content[0].text, "at last", String(busy.error));
      const endless = watch(session.call("slow", {}, options));
      await settle();
      await tools[2].work(36 * SECOND);
      assert.deepEqual(endless, {});
      await tools[2].work(8 * SECOND);
      assert.equal(endless.error?.reason, "deadline_exceeded");
    });

    test("what only landfall asked for is not shown to the client", ours, async () => {
      const errors = [];
      const more = { onerror: (error) => errors.push(error) };
      const tool = telling();
      const options = { timeouts: { ...clocks, recoveryMs: 20 * SECOND } };
      const { session } = await open(client, tool.begin, { options, more });
      const seen = watch(session.call("slow", {}, { timeout: HOUR }));
      await settle();
      await tool.work(16 * SECOND);
      tool.answer();
      await settle();
      assert.equal(seen.value?.content[0].text, "at last", String(seen.error));
      assert.deepEqual(errors, []);
    });
  });
}

for (const client of [sdkV1, sdkV2Legacy, aiSdk1, aiSdk2]) {
  test(`the clocks of a call rest while its server waits for us: ${client.name}`, ours, async () => {
    let answer;
    const more = {
      capabilities: { elicitation: {} },
      answers: { "elicitation/create": () => new Promise((resolve) => (answer = resolve)) },
    };
    const timeouts = { idleMs: 50 * SECOND, callMs: 15 * SECOND, recoveryMs: 16 * SECOND };
    const tool = telling();
    const { session, stub } = await open(client, tool.begin, { options: { timeouts }, more });
    const seen = watch(session.call("slow", {}, { timeout: HOUR }));
    await settle();
    const params = { message: "Who?", requestedSchema: { type: "object", properties: {} } };
    tool.ask({ id: "q", method: "elicitation/create", params });
    await pass(25 * SECOND);
    assert.deepEqual(seen, {});
    answer({ action: "accept", content: {} });
    await settle();
    const answers = stub.requests.filter(({ body }) => body?.id === "q");
    assert.deepEqual(
      answers.map(({ body }) => body.result),
      [{ action: "accept", content: {} }],
    );
    tool.answer();
    await settle();
    assert.ok("value" in seen, String(seen.error));
  });
}

for (const client of [aiSdk1, aiSdk2]) {
  test(`a client without a timer has landfall's: ${client.name}`, ours, async () => {
    const { begin } = SILENCES["no headers before the answer"]();
    const { session } = await open(client, begin);
    const seen = watch(session.call("slow", {}));
    await pass(110 * SECOND);
    assert.deepEqual(seen, {});
    await pass(20 * SECOND);
    assert.match(seen.error?.reason, /^(first_byte|call)_timeout$/);
  });
}
