// How `connect` finds out what a server speaks, answer by answer: what it asks next, and what it makes of it.
import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { connect } from "../../target/npm/entry/index.js";
import { createModernServer } from "../server/modern/server.mjs";

const QUICK = { baseMs: 20, maxMs: 50 };

let server;
before(async () => {
  server = await createModernServer({ legacy: "sessions" });
});
afterEach(() => server.reset());
after(() => server.close());

const error = (code, message, data) => ({ code, message, data });
const answered = (status, body, more) => ({ status, body, ...more });
const NO_METHOD = { jsonrpc: "2.0", id: null, error: error(-32601, "Method not found") };
const NO_SESSION = { jsonrpc: "2.0", id: null, error: error(-32000, "Bad Request: no session") };
const UNAVAILABLE = { status: 503, times: 2 };

/** Where requests of these methods are answered so: `legacy` is who answers what is not modern, nobody by default. */
function addressOf({ legacy = "", supported, ...faults }) {
  const query = new URLSearchParams({ faults: JSON.stringify(faults), legacy });
  if (supported) query.set("supported", supported);
  return `${server.url}?${query}`;
}

async function open(faults, options) {
  const session = await connect(addressOf(faults), { retry: QUICK, logger: false, ...options });
  const found = { era: session.era, protocolVersion: session.protocolVersion };
  await session.close();
  return found;
}

const asked = () => server.log.flatMap(({ rpc, method }) => (method === "DELETE" ? [] : (rpc ?? method)));

const MODERN = { era: "modern", protocolVersion: "2026-07-28" };
const LEGACY = { era: "legacy", protocolVersion: "2025-11-25" };
const BOTH = ["initialize", "server/discover"];

describe("a server that does not know initialize is asked by server/discover", () => {
  const REFUSALS = {
    "400 with the versions that it has": undefined,
    "400 with a mismatch of headers": { status: 400, error: error(-32020, "Header mismatch") },
    "400 with a request that lacks its members": { status: 400, error: error(-32602, "Invalid params") },
    "400 without a word": answered(400, ""),
    "404 with a method that is not found": { status: 404, error: error(-32601, "Method not found") },
    "404 of a page": answered(404, "<!doctype html>", { contentType: "text/html" }),
    405: answered(405, ""),
    406: answered(406, ""),
    415: answered(415, ""),
    "200 with a method that is not found": { status: 200, error: error(-32601, "Method not found") },
  };
  for (const [what, initialize] of Object.entries(REFUSALS)) {
    test(what, async () => {
      assert.deepEqual(await open({ initialize }), MODERN);
      assert.deepEqual(asked(), BOTH);
    });
  }
});

test("a session with an id is taken, and nothing else is asked", async () => {
  assert.deepEqual(await open({ legacy: "sessions" }), LEGACY);
  assert.deepEqual(asked(), ["initialize", "notifications/initialized"]);
});

describe("a session without an id is taken where there is nothing better", () => {
  const STATELESS = { initialize: { session: null }, legacy: "sessions" };
  const DISCOVERS = {
    "a modern version": [undefined, MODERN],
    "404 with a method that is not found": [answered(404, NO_METHOD), LEGACY],
    "400 that misses a session": [answered(400, NO_SESSION), LEGACY],
    "versions of the earlier era alone": [
      {
        status: 400,
        error: error(-32022, "Unsupported protocol version", { supported: ["2025-11-25"], requested: "" }),
      },
      LEGACY,
    ],
    503: [{ status: 503 }, LEGACY],
  };
  for (const [what, [discover, found]] of Object.entries(DISCOVERS)) {
    test(what, async () => {
      assert.deepEqual(await open({ ...STATELESS, "server/discover": discover }), found);
      assert.deepEqual(asked().slice(0, 2), BOTH);
    });
  }
});

test("versions in the error of server/discover are as good as its result", async () => {
  const data = { supported: ["2027-01-01", "2026-07-28"], requested: "2026-07-28" };
  const fault = { status: 400, error: error(-32022, "Unsupported protocol version", data) };
  assert.deepEqual(await open({ "server/discover": fault }), MODERN);
});

test("what passes is no verdict: a server that is away for a moment is asked again", async () => {
  assert.deepEqual(await open({ initialize: UNAVAILABLE }), MODERN);
  assert.deepEqual(asked(), ["initialize", "initialize", ...BOTH]);
  server.reset();
  assert.deepEqual(await open({ "server/discover": UNAVAILABLE }), MODERN);
  assert.deepEqual(asked(), [...BOTH, "server/discover", "server/discover"]);
  server.reset();
  const cut = { cutBeforeHeaders: true, times: 1 };
  assert.deepEqual(await open({ initialize: cut, "server/discover": cut }), MODERN);
});

test("credentials come first: what was refused for want of them is asked again with them", async () => {
  let token = "old";
  const authProvider = {
    token: () => token,
    onUnauthorized: async () => {
      token = "new";
    },
  };
  const refused = { status: 401, times: 1, headers: { "www-authenticate": "Bearer" } };
  assert.deepEqual(await open({ initialize: refused }, { authProvider }), MODERN);
  assert.deepEqual(asked(), ["initialize", ...BOTH]);
});

test("where nothing fits, the error says what each question got", async () => {
  const faults = { initialize: answered(405, "no posts"), "server/discover": answered(404, "not here") };
  await assert.rejects(open(faults), (failure) => {
    assert.match(failure.message, /initialize: .*405.*server\/discover: .*404/);
    return true;
  });
});

test("an era that is asked for is the only one, whatever the server says", async () => {
  assert.deepEqual(await open({ legacy: "sessions" }, { era: "modern" }), MODERN);
  assert.deepEqual(asked(), ["server/discover"]);
  server.reset();
  await assert.rejects(
    open({ "server/discover": answered(404, NO_METHOD), legacy: "sessions" }, { era: "modern" }),
  );
  assert.deepEqual(asked(), ["server/discover"]);
  server.reset();
  await assert.rejects(open({}, { era: "legacy" }));
  assert.deepEqual(asked(), ["initialize"]);
});
