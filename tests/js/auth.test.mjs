// The small provider of credentials, over the real core.
import assert from "node:assert/strict";
import { test } from "node:test";
import { UnauthorizedError } from "@modelcontextprotocol/client";
import { connect, LandfallTransport } from "../../target/modules/entry/index.js";
import { timed } from "../support/timed.mjs";
import { fakeTransport, startedTransport, turn } from "./support/fake-core.mjs";
import { stubServer } from "./support/stub-server.mjs";

const address = "https://server.test/mcp";
const initialize = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } },
};
const work = (id) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "work" } });

/** A server that takes one token, and tells which each request had. */
function guarded(state) {
  const tokens = [];
  const server = stubServer(({ headers }) => {
    tokens.push(headers.get("authorization"));
    return headers.get("authorization") === state.wanted ? undefined : new Response("no", { status: 401 });
  });
  return { ...server, tokens };
}

async function started(t, options) {
  const transport = new LandfallTransport(address, { listen: false, ...options });
  t.after(() => transport.close());
  await transport.start();
  return transport;
}

test("each request is given the provider's token, above any other authorization", async (t) => {
  const state = { wanted: "Bearer t-1" };
  const server = guarded(state);
  let n = 0;
  const authProvider = { token: () => `t-${++n}` };
  const requestInit = { headers: { Authorization: "Basic x" } };
  const transport = await started(t, { fetch: server.fetch, authProvider, requestInit });
  await transport.send(initialize);
  state.wanted = "Bearer t-2";
  await transport.send(work(1));
  assert.deepEqual(server.tokens, ["Bearer t-1", "Bearer t-2"]);
});

test("without a token the user's own authorization goes out", async (t) => {
  const server = guarded({ wanted: "Basic x" });
  const authProvider = { token: async () => undefined };
  const requestInit = { headers: { Authorization: "Basic x" } };
  const transport = await started(t, { fetch: server.fetch, authProvider, requestInit });
  await transport.send(initialize);
  assert.deepEqual(server.tokens, ["Basic x"]);
});

test("a 401 asks the provider once for all that met it, with what it needs", async (t) => {
  const state = { wanted: "Bearer old" };
  const server = guarded(state);
  const asked = [];
  const authProvider = {
    current: "old",
    token() {
      return this.current;
    },
    async onUnauthorized({ response, serverUrl, fetchFn }) {
      asked.push([response.status, serverUrl.href, typeof fetchFn]);
      await turn();
      this.current = "new";
    },
  };
  const transport = await started(t, { fetch: server.fetch, authProvider });
  await transport.send(initialize);
  state.wanted = "Bearer new";
  await Promise.all([transport.send(work(1)), transport.send(work(2))]);
  assert.deepEqual(asked, [[401, address, "function"]]);
});

test("the fetch that a provider is given sends what belongs to every request", async () => {
  const requests = [];
  const fetch = async (url, init) => {
    requests.push([
      String(url),
      Object.fromEntries(new Headers(init.headers)),
      init.credentials,
      init.signal,
    ]);
    return new Response(null);
  };
  const requestInit = { credentials: "include", headers: { a: "1", b: "1" } };
  const authProvider = {
    token: () => undefined,
    onUnauthorized: ({ fetchFn }) => fetchFn("https://server.test/token", { headers: { b: "2" } }),
  };
  const { core } = await startedTransport({ fetch, requestInit, authProvider });
  core.tell([{ out: "authorize", call: 1, why: "unauthorized" }]);
  await turn();
  const [[url, headers, credentials, signal]] = requests;
  assert.deepEqual([url, headers, credentials], ["https://server.test/token", { a: "1", b: "2" }, "include"]);
  assert.ok(signal instanceof AbortSignal);
  assert.deepEqual(
    core.called("authorized").map(([, , ok]) => ok),
    [true],
  );
});

test("a provider that throws fails its calls with what it threw, and no others", async (t) => {
  const state = { wanted: "Bearer t" };
  const server = guarded(state);
  const mine = new RangeError("no more");
  let isBroken = false;
  const authProvider = {
    token() {
      if (isBroken) throw mine;
      return "t";
    },
  };
  const transport = await started(t, { fetch: server.fetch, authProvider, retry: { baseMs: 5 } });
  await transport.send(initialize);
  isBroken = true;
  await assert.rejects(transport.send(work(1)), (thrown) => thrown === mine);
  assert.equal(mine[Symbol.for("mcp.authSeamEscape")], true);
  isBroken = false;
  await transport.send(work(2));
});

test("a token that no header can carry fails its call, and is shown nowhere", async (t) => {
  const server = guarded({ wanted: undefined });
  const lines = [];
  const logger = Object.fromEntries(
    ["debug", "info", "warn", "error"].map((level) => [level, (...line) => lines.push(line)]),
  );
  const transport = await started(t, {
    fetch: server.fetch,
    authProvider: { token: () => "se\ncret" },
    logger,
  });
  transport.onevent = (event) => lines.push(event);
  const thrown = await transport.send(initialize).catch((caught) => caught);
  assert.match(thrown.message, /no header can carry/);
  assert.doesNotMatch(JSON.stringify([lines, thrown.message]), /cret/);
  assert.deepEqual(server.requests, []);
});

test("what onUnauthorized throws is what its calls reject with; without it they reject as unauthorized", async (t) => {
  const server = guarded({ wanted: "Bearer never" });
  const mine = new RangeError("denied");
  const onUnauthorized = async () => {
    throw mine;
  };
  const strict = await started(t, {
    fetch: server.fetch,
    authProvider: { token: () => "t", onUnauthorized },
  });
  await assert.rejects(strict.send(initialize), (thrown) => thrown === mine);
  const plain = await started(t, { fetch: server.fetch, authProvider: { token: () => "t" } });
  await assert.rejects(plain.send(initialize), (thrown) => thrown instanceof UnauthorizedError);
});

timed(
  "a provider that hangs holds only the calls that wait for it, and not for longer than handshakeMs",
  async (t) => {
    const state = { wanted: "Bearer t" };
    const server = guarded(state);
    const authProvider = { token: () => "t", onUnauthorized: () => new Promise(() => {}) };
    const transport = await started(t, {
      fetch: server.fetch,
      authProvider,
      timeouts: { handshakeMs: 150 },
    });
    await transport.send(initialize);
    state.wanted = "Bearer other";
    const began = Date.now();
    await assert.rejects(transport.send(work(1)));
    assert.ok(Date.now() - began < 3_000);
    state.wanted = "Bearer t";
    await transport.send(work(2));
  },
);

timed("an answer that comes after the flight was given up has no word", async () => {
  const flights = [];
  const authProvider = {
    token: () => "t",
    onUnauthorized: () => new Promise((resolve) => flights.push(resolve)),
  };
  const { transport, core } = await startedTransport({ authProvider });
  core.tell([{ out: "authorize", call: 1, why: "unauthorized" }]);
  await turn();
  core.tell([{ out: "authorize", call: 2, why: "unauthorized" }]);
  await turn();
  flights[0]();
  await turn();
  assert.equal(core.called("authorized").length, 0);
  flights[1]();
  await turn();
  assert.equal(core.called("authorized").length, 1);
  core.tell([{ out: "authorize", call: 3, why: "unauthorized" }]);
  await turn();
  await transport.close();
  flights[2]();
  await turn();
  assert.equal(core.called("authorized").length, 1, "nothing after close()");
});

test("a session of landfall's own has its provider, too", async () => {
  const state = { wanted: "Bearer old" };
  const server = guarded(state);
  const authProvider = {
    current: "old",
    token() {
      return this.current;
    },
    onUnauthorized() {
      this.current = "new";
    },
  };
  const session = await connect(address, { fetch: server.fetch, authProvider, era: "resumable" });
  state.wanted = "Bearer new";
  await session.callTool("work").result;
  const cause = new Error("denied");
  authProvider.onUnauthorized = async () => {
    throw cause;
  };
  state.wanted = "Bearer newest";
  const thrown = await session.callTool("work").result.catch((caught) => caught);
  assert.deepEqual([thrown.reason, thrown.outcome, thrown.cause], ["unauthorized", "rejected", cause]);
  await session.close();
});

test("an authProvider that is none is refused by name", () => {
  for (const authProvider of [5, "token", {}, { token: "t" }, { token() {}, onUnauthorized: 1 }]) {
    assert.throws(() => fakeTransport({ authProvider }), { name: "ConfigError", option: "authProvider" });
  }
});

test("credentials that do not come end a call as connect_timeout, unsent, and are not asked for again", async (t) => {
  for (const kind of ["token", "headers"]) {
    let asked = 0;
    let hangs = false;
    const give = (value) => {
      if (hangs) asked += 1;
      return hangs ? new Promise(() => {}) : value;
    };
    const server = guarded({ wanted: kind === "token" ? "Bearer t" : "Basic x" });
    const transport = await started(t, {
      fetch: server.fetch,
      timeouts: { handshakeMs: 150 },
      ...(kind === "token"
        ? { authProvider: { token: () => give("t") } }
        : { headers: () => give({ authorization: "Basic x" }) }),
    });
    await transport.send(initialize);
    hangs = true;
    await assert.rejects(transport.send(work(1)), {
      name: "ToolCallFailedError",
      reason: "connect_timeout",
      outcome: "not_sent",
      retrySafe: true,
    });
    assert.equal(asked, 1, kind);
  }
});

test("a call that ends before it was handed to fetch says that it was not sent", async (t) => {
  const server = guarded({ wanted: "Basic x" });
  let hangs = false;
  const transport = await started(t, {
    fetch: server.fetch,
    timeouts: { callMs: 200 },
    headers: () => (hangs ? new Promise(() => {}) : { authorization: "Basic x" }),
  });
  await transport.send(initialize);
  hangs = true;
  await assert.rejects(transport.send(work(1)), {
    reason: "first_byte_timeout",
    outcome: "not_sent",
    retrySafe: true,
  });
});

test("a provider that fails for the stream of the server's own messages is told to onerror, for nobody waits for that", async (t) => {
  const server = stubServer(({ method, body }) => {
    if (method === "GET" || body?.method === "tools/call") return new Response("no", { status: 401 });
  });
  const mine = new RangeError("log in again");
  let asked = 0;
  const authProvider = {
    token: () => "t",
    onUnauthorized() {
      asked += 1;
      throw mine;
    },
  };
  const transport = await started(t, { fetch: server.fetch, authProvider, listen: true });
  const told = [];
  transport.onerror = (error) => told.push(error);
  await transport.send(initialize);
  await transport.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  for (let turns = 0; asked === 0 && turns < 100; turns += 1) await turn();
  await turn();
  assert.deepEqual(told, [mine]);
  // A call is rejected with it, and told of once.
  await assert.rejects(transport.send(work(1)), (thrown) => thrown === mine);
  assert.deepEqual(told, [mine, mine]);
});

test("stand-alone the log has what a provider threw for a message that nobody waits for", async () => {
  const server = stubServer(({ method }) => {
    if (method === "GET") return new Response("no", { status: 401 });
  });
  const lines = [];
  const authProvider = {
    token: () => "t",
    onUnauthorized() {
      throw new RangeError("log in again");
    },
  };
  const logger = { warn() {}, error: (...said) => lines.push(said.join(" ")) };
  const session = await connect(address, { fetch: server.fetch, authProvider, listen: true, logger });
  for (let turns = 0; lines.length === 0 && turns < 100; turns += 1) await turn();
  await session.close();
  assert.equal(lines.length, 1);
  assert.match(lines[0], /authProvider threw: .*log in again/);
});

test("a provider is shown the head of a refusal, also where its body broke", async (t) => {
  let isRefused = false;
  const broken = () => {
    const pull = (controller) => controller.error(new Error("cut"));
    const headers = { "www-authenticate": 'Bearer scope="a"' };
    const init = { status: 401, statusText: "Unauthorized", headers };
    return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }), init);
  };
  const server = stubServer(({ body }) => {
    if (body?.method === "tools/call" && !isRefused) {
      isRefused = true;
      return broken();
    }
  });
  const shown = [];
  const authProvider = {
    token: () => "t",
    async onUnauthorized({ response }) {
      shown.push([response.status, response.headers.get("www-authenticate")]);
    },
  };
  const transport = await started(t, { fetch: server.fetch, authProvider });
  await transport.send(initialize);
  await transport.send(work(1));
  assert.deepEqual(shown, [[401, 'Bearer scope="a"']]);
});

test("what a provider throws is the cause also where it is no error, and no 401 of renewed credentials", async (t) => {
  const server = guarded({ wanted: "Bearer other" });
  const authProvider = {
    token: () => "t",
    onUnauthorized: () => Promise.reject("denied"),
  };
  const transport = await started(t, { fetch: server.fetch, authProvider });
  const thrown = await transport.send(work(1)).catch((caught) => caught);
  assert.deepEqual(
    [thrown.name, thrown.reason, thrown.cause],
    ["ToolCallFailedError", "unauthorized", "denied"],
  );
  assert.doesNotMatch(thrown.message, /re-authentication/);
});
