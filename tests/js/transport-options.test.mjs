// The options of the transport, those of the official class among them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { sdkRequestOptions } from "../../target/modules/sdk/request-options.js";
import { fakeTransport, startedTransport, turn } from "./support/fake-core.mjs";

const address = "https://server.test/mcp";

/** What the core is configured with. */
async function configOf(options) {
  const { core } = await startedTransport(options);
  return core.config;
}

test("the official options for reconnecting are the core's", async () => {
  const reconnectionOptions = {
    initialReconnectionDelay: 100,
    maxReconnectionDelay: 3_000,
    reconnectionDelayGrowFactor: 1.5,
    maxRetries: 2,
  };
  const { baseMs, maxMs, growFactor, maxRetries } = await configOf({ reconnectionOptions });
  assert.deepEqual([baseMs, maxMs, growFactor, maxRetries], [100, 3_000, 1.5, 2]);
  const own = await configOf({ reconnectionOptions, retry: { baseMs: 7 } });
  assert.deepEqual([own.baseMs, own.maxMs], [7, 3_000]);
});

test("official options that make no sense construct, as they do there", async () => {
  const odd = (initialReconnectionDelay, maxReconnectionDelay, reconnectionDelayGrowFactor, maxRetries) => ({
    reconnectionOptions: {
      initialReconnectionDelay,
      maxReconnectionDelay,
      reconnectionDelayGrowFactor,
      maxRetries,
    },
  });
  const cases = [
    [odd(0, 0, 0, 0), [1, 1, undefined, 0]],
    [odd(500, 100, 1, 2.5), [500, 500, 1, 2]],
    [odd(-1, Number.NaN, -2, -3), [undefined, undefined, undefined, undefined]],
    [odd(1, Number.POSITIVE_INFINITY, 2, Number.POSITIVE_INFINITY), [1, undefined, 2, undefined]],
    [{ reconnectionOptions: {} }, [undefined, undefined, undefined, undefined]],
  ];
  for (const [options, expected] of cases) {
    const { baseMs, maxMs, growFactor, maxRetries } = await configOf(options);
    assert.deepEqual([baseMs, maxMs, growFactor, maxRetries], expected);
  }
});

test("nulls, options of other versions and what the official transports set themselves do not break a swap", async () => {
  const lines = [];
  const { transport } = fakeTransport({
    authProvider: null,
    requestInit: { method: "PUT", body: "x", signal: AbortSignal.abort(), credentials: "include" },
    reconnectionOptions: undefined,
    eventSourceInit: {},
    onInsufficientScope: "throw",
    maxStepUpRetries: -1,
    skipIssuerMetadataValidation: true,
    logger: { warn: (line) => lines.push(line) },
  });
  await transport.start();
  assert.deepEqual(lines, ["landfall: the option eventSourceInit is not known, and is ignored"]);
  fakeTransport({ requestInit: { headers: null } });
  const bare = fakeTransport(null);
  await bare.transport.start();
});

test("what is wrong with an option of landfall's own is refused by name", () => {
  const wrong = {
    idleMs: { timeouts: { idleMs: "1" } },
    "timeouts.totalMs": { timeouts: { totalMs: 1 } },
    replay: { replay: "always" },
    listen: { listen: "always" },
    store: { store: {} },
    tasks: { tasks: "always" },
    headers: { headers: { "bad name": "x" } },
    fetch: { fetch: 5 },
    reconnectionScheduler: { reconnectionScheduler: 5 },
  };
  for (const [option, options] of Object.entries(wrong))
    assert.throws(() => fakeTransport(options), { name: "ConfigError", option });
});

test("listen is on in a transport, unless it is turned off", async () => {
  const listens = async (options) => (await configOf(options)).listen === true;
  assert.equal(await listens({}), true);
  assert.equal(await listens({ listen: "auto" }), true);
  assert.equal(await listens({ listen: false }), false);
});

test("requestInit belongs to every request, and the user's word on redirects is obeyed", async () => {
  const redirectOf = async (options) => {
    const asked = [];
    const fetch = async (_url, init) => {
      asked.push(init);
      return new Response(null, { status: 307, headers: { location: "/other" } });
    };
    const { core } = await startedTransport({ fetch, ...options });
    const head = await core.open(1, { method: "GET" });
    assert.equal(head.target, new URL("/other", address).href);
    return [core.config.redirects, asked[0].redirect, asked[0].credentials];
  };
  const requestInit = { credentials: "include" };
  assert.deepEqual(await redirectOf({ requestInit }), [undefined, "manual", "include"]);
  assert.equal((await redirectOf({ redirectPolicy: "follow" }))[0], "follow");
  assert.equal((await redirectOf({ redirectPolicy: "same-origin" }))[0], undefined);
  // The core's word goes to fetch: what fetch itself refused would look like an error of the network.
  for (const redirect of ["error", "manual"])
    assert.deepEqual(await redirectOf({ redirectPolicy: "follow", requestInit: { redirect } }), [
      ...["refuse", "manual", undefined],
    ]);
  await assert.rejects(configOf({ redirectPolicy: "never" }), {
    name: "ConfigError",
    option: "redirectPolicy",
  });
});

test("a bare request carries nothing of the user's or of landfall's", async () => {
  const asked = [];
  const fetch = async (url, init) => {
    asked.push({ url, init });
    return new Response(null);
  };
  const options = {
    fetch,
    headers: { "x-api-key": "secret" },
    requestInit: { credentials: "include", headers: { cookie: "secret" } },
    authProvider: { token: () => "secret" },
  };
  const { core } = await startedTransport(options);
  const own = {
    ...{ method: "GET", redirect: "follow" },
    ...{ credentials: "omit", referrerPolicy: "no-referrer" },
  };
  await core.open(1, { method: "GET", manner: "bare" });
  const [{ url, init }] = asked;
  const { signal, ...rest } = init;
  assert.deepEqual([url, rest], [address, own]);
  assert.ok(signal instanceof AbortSignal);
});

test("a scheduler replaces the waits, counting from 0, and is stopped when nobody waits any more", async () => {
  const asked = [];
  const stopped = [];
  const reconnectionScheduler = (reconnect, delay, attempt) => {
    asked.push({ reconnect, delay, attempt });
    return () => stopped.push(attempt);
  };
  const { transport, core } = await startedTransport({ reconnectionScheduler });
  assert.equal(core.config.scheduler, true);
  const work = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "work" } };
  void transport.send(work).catch(() => {});
  core.tell([{ out: "schedule", call: 1, waitMs: 700, attempt: 1 }]);
  await turn();
  assert.deepEqual([asked[0].delay, asked[0].attempt], [700, 0]);
  asked[0].reconnect();
  asked[0].reconnect();
  assert.deepEqual(
    core.called("reconnect").map(([, , call]) => call),
    [1],
  );
  core.tell([{ out: "schedule", call: 1, waitMs: 900, attempt: 2 }]);
  core.fail(1);
  await turn();
  assert.deepEqual(stopped, [1], "the call has ended");
  asked[1].reconnect();
  core.tell([{ out: "schedule", call: 2, waitMs: 900, attempt: 3 }]);
  await turn();
  await transport.close();
  assert.deepEqual(stopped, [1, 2]);
  assert.equal(core.called("reconnect").length, 1);
});

test("a scheduler that throws, or calls at once, or gives no way to stop, harms nothing", async () => {
  const given = [
    () => {
      throw new Error("mine");
    },
    (reconnect) => reconnect(),
    () => 5,
  ];
  for (const reconnectionScheduler of given) {
    const { transport, core } = await startedTransport({ reconnectionScheduler });
    core.tell([{ out: "schedule", call: 1, waitMs: 1, attempt: 1 }]);
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(core.called("reconnect").length, reconnectionScheduler === given[2] ? 0 : 1);
    await transport.close();
  }
});

test("sdkRequestOptions let landfall's clocks come first", () => {
  const { timeout, maxTotalTimeout, resetTimeoutOnProgress, onprogress } = sdkRequestOptions();
  assert.ok(timeout > 3_600_000 && timeout < 3_620_000);
  assert.deepEqual([maxTotalTimeout, resetTimeoutOnProgress, onprogress({})], [timeout, true, undefined]);
  const shorter = sdkRequestOptions({ callMs: 1_000, recoveryMs: 2_000, deadlineMs: 5_000 });
  assert.ok(shorter.timeout > 5_250 && shorter.timeout < 8_000);
  assert.ok(sdkRequestOptions({ callMs: 7_200_000 }).timeout > 14_400_000);
  assert.ok(sdkRequestOptions({ callMs: () => 5 }).timeout > 3_600_000);
  assert.equal(sdkRequestOptions({ deadlineMs: 2 ** 40 }).timeout, 2 ** 31 - 1, "what setTimeout takes");
});
