// Small promises of requests, addresses and logs that nothing else would miss: each test was written after a deliberate
// break of what it states had passed all others (tests/mutants).
import assert from "node:assert/strict";
import { test } from "node:test";
import { isShallow } from "../../target/modules/base/json.js";
import { Log } from "../../target/modules/base/log.js";
import { within } from "../../target/modules/base/promise.js";
import { ServerText } from "../../target/modules/base/server-text.js";
import { isExposed, refuseAddress } from "../../target/modules/http/addresses.js";
import { BodyPump } from "../../target/modules/http/body.js";
import { CredentialRefresh } from "../../target/modules/http/credentials.js";
import { fetchOfProvider } from "../../target/modules/http/provider-fetch.js";
import { exchangesOf } from "./support/exchanges.mjs";
import { turn } from "./support/fake-core.mjs";

const address = "https://server.test/mcp";
const nothing = () => {};

test("all of a network's own addresses are inside of it, in IPv6 too, and none beside them", () => {
  const endpoint = new URL(address);
  const refused = (host) => {
    try {
      refuseAddress("it", new URL(`https://${host}/`), endpoint);
      return false;
    } catch {
      return true;
    }
  };
  const inside = ["[fe80::1]", "[fe90::1]", "[fea0::1]", "[febf::1]", "[fc00::1]", "[fd12::1]"];
  inside.push("[::127.0.0.1]", "[::ffff:10.0.0.1]", "169.254.1.1", "172.16.0.1", "172.31.255.255");
  for (const host of inside) assert.ok(refused(host), host);
  const outside = [
    "[fec0::1]",
    "[2001:db8::1]",
    "[::ffff:9.9.9.9]",
    "169.253.1.1",
    "172.15.0.1",
    "172.32.0.1",
  ];
  for (const host of outside) assert.ok(!refused(host), host);
  assert.ok(!isExposed("http://[::127.0.0.1]/") && isExposed("http://10.0.0.1/"));
});

test("a body whose chunks take long to handle gives a turn by the clock, not by their number", async () => {
  let pushed = 0;
  const sink = {
    push() {
      pushed += 1;
      for (const end = performance.now() + 1; performance.now() < end; );
    },
  };
  const body = new ReadableStream({ pull: (controller) => controller.enqueue(Uint8Array.of(1)) });
  const pump = new BodyPump({ body }, sink);
  pump.resume();
  await new Promise((resolve) => setTimeout(resolve, 1));
  pump.stop();
  assert.ok(pushed < 500, `${pushed} chunks`);
});

test("a flight for credentials begins without what the last one failed with", async () => {
  const ends = [() => Promise.reject(new Error("first")), () => new Promise(nothing)];
  const credentials = { refresh: () => ends.shift()() };
  const settings = { credentials, handshakeMs: 1_000, handshakeClock: "", providerFetch: fetch };
  const refresh = new CredentialRefresh(settings, nothing);
  refresh.begin(new Response(null, { status: 401 }), "unauthorized", nothing);
  await turn();
  assert.equal(refresh.failure.thrown?.message, "first");
  refresh.begin(new Response(null, { status: 401 }), "unauthorized", nothing);
  assert.deepEqual(refresh.failure, {});
  refresh.stop();
});

/** Exchanges over this `fetch`, and the secrets that they told. */
function exchanges(options) {
  const learned = [];
  const { open, ask } = exchangesOf(options, { learned: (secret) => learned.push(secret) });
  return { open, ask: (exchange, call) => ask(exchange, { call }), learned };
}

test("what the last thousand calls failed with is known, and no more", async () => {
  const { open, ask } = exchanges({ fetch: async () => new Response(null, { status: 500 }) });
  for (let call = 1; call <= 1_001; call += 1) await ask(call, call);
  const known = [1, 2, 1_001].map((call) => open.failureOf(call).refusal?.status);
  assert.deepEqual(known, [undefined, 500, 500]);
  open.abortAll();
});

test("a secret is told to the core once, however many requests carry it", async () => {
  const headers = { authorization: "Bearer secret-of-mine" };
  const { open, ask, learned } = exchanges({ headers, fetch: async () => new Response(null) });
  for (const exchange of [1, 2, 3]) await ask(exchange);
  assert.ok(learned.includes("secret-of-mine"));
  assert.equal(new Set(learned).size, learned.length);
  open.abortAll();
});

test("an exchange that landfall ended itself is no reason for its call's failure", async () => {
  const fetch = (_url, { signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
    });
  const { open, ask } = exchanges({ fetch });
  void ask(1, 7);
  await turn();
  open.abort(1);
  await turn();
  assert.deepEqual(open.failureOf(7), {});
});

/** A provider's fetch whose server answers by `answer(url)`, and what it was asked. */
function provided(answer) {
  const asked = [];
  const fetch = async (url, init) => {
    asked.push({ url: String(url), method: init.method ?? "GET", headers: new Headers(init.headers) });
    return answer(String(url)) ?? new Response("ok");
  };
  const settings = { fetch, requestInit: {}, follow: false, endpoint: new URL(address) };
  return { fetch: fetchOfProvider(settings), asked };
}

test("a proof of DPoP does not leave the origin that it was made for, nor do cookies", async () => {
  const to = (location) => new Response(null, { status: 302, headers: { location } });
  const answers = {
    "https://auth.test/a": "https://auth.test/b",
    "https://auth.test/b": "https://else.test/c",
  };
  const { fetch, asked } = provided((url) => answers[url] && to(answers[url]));
  await fetch("https://auth.test/a", { headers: { dpop: "proof", cookie: "c", accept: "y" } });
  assert.deepEqual(
    asked.map(({ headers }) => [headers.get("dpop"), headers.get("cookie"), headers.get("accept")]),
    [
      ["proof", "c", "y"],
      ["proof", "c", "y"],
      [null, null, "y"],
    ],
  );
});

test("a provider's request is redirected five times at most, and what it left is cancelled", async () => {
  let cancelled = 0;
  const { fetch, asked } = provided(() => {
    const body = new ReadableStream({
      cancel() {
        cancelled += 1;
      },
    });
    return new Response(body, { status: 302, headers: { location: "/loop" } });
  });
  await assert.rejects(fetch("https://auth.test/loop"), /too often/);
  await turn();
  assert.deepEqual([asked.length, cancelled], [6, 6]);
});

test("a POST that is redirected by 301, 302 or 303 goes on as a GET without its body", async () => {
  for (const status of [301, 302, 303]) {
    const { fetch, asked } = provided((url) =>
      url.endsWith("/a") ? new Response(null, { status, headers: { location: "/b" } }) : undefined,
    );
    await fetch("https://auth.test/a", { method: "POST", body: "b", headers: { "content-type": "x" } });
    assert.deepEqual(
      asked.map(({ method, headers }) => [method, headers.get("content-type")]),
      [
        ["POST", "x"],
        ["GET", null],
      ],
      `${status}`,
    );
  }
});

test("a log line has one level by its event, no control characters, and nothing that was sent", () => {
  const lines = [];
  const logger = Object.fromEntries(
    ["debug", "info", "warn", "error"].map((level) => [level, (line) => lines.push([level, line])]),
  );
  const serverText = new ServerText();
  serverText.learn("authorization", "Bearer secret-of-mine");
  const log = new Log(logger, serverText);
  const warning = { type: "warning", code: "malformed_event", at: 1 };
  log.event({ ...warning, message: "a\u001b[31m\r\nb secret-of-mine" });
  log.event({ type: "queued", at: 1, requestId: 1 });
  log.event({ type: "resumed", at: 1, requestId: 1, level: "L1", replayed: 0, duplicates: 0 });
  assert.deepEqual(lines, [
    ["warn", "landfall: warning: a [31m b [redacted]"],
    ["debug", "landfall: queued"],
    ["info", "landfall: resumed"],
  ]);
});

test("a wait that is longer than any timer takes does not end at once", async () => {
  const controller = new AbortController();
  const late = () => new Error("late");
  const waiting = within(2 ** 40, () => new Promise(nothing), late, controller.signal);
  await new Promise((resolve) => setTimeout(resolve, 20));
  controller.abort(new Error("given up"));
  await assert.rejects(waiting, /given up/);
});

test("how deep something is nested is counted to the level", () => {
  const nested = (levels) => (levels === 0 ? 1 : { a: nested(levels - 1) });
  assert.deepEqual([isShallow(nested(64), 64), isShallow(nested(65), 64)], [true, false]);
});
