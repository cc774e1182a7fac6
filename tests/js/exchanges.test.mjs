// Exchanges over `fetch`: headers, receivers, credentials, what is said of a failure.
import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { Readable } from "node:stream";
import { test } from "node:test";
import { connect } from "../../target/modules/entry/index.js";
import { Exchanges } from "../../target/modules/http/exchanges.js";
import { readSettings } from "../../target/modules/options/settings.js";
import { turn } from "./support/fake-core.mjs";
import { stubServer } from "./support/stub-server.mjs";
import "./support/timers.mjs";

const address = "https://server.test/mcp";
const none = () => undefined;

/** Exchanges over a `fetch` of the test's, and what they were asked and said. */
function exchanges(options = {}) {
  const asked = [];
  const said = [];
  const fetch = (url, init) => {
    asked.push({ url, ...init, headers: Object.fromEntries(init.headers) });
    return Promise.resolve(new Response("body"));
  };
  const settings = readSettings(address, { fetch, ...options });
  const sink = {
    sent: () => {},
    // The list itself is the core's, and tested there.
    isReserved: (name) =>
      ["accept", "content-type", "last-event-id"].includes(name) || name.startsWith("mcp-"),
    learned: () => {},
    push: (exchange, bytes) => said.push([exchange, new TextDecoder().decode(bytes)]),
    end: (exchange) => said.push([exchange, "END"]),
    fail: (exchange, message, code) => said.push([exchange, "FAIL", message, code]),
  };
  return { open: new Exchanges(settings, sink), asked, said };
}

test("fetch runs in a microtask of its own, and bare", async () => {
  const receivers = [];
  const { open } = exchanges({
    fetch() {
      receivers.push(this);
      return Promise.resolve(new Response(null));
    },
  });
  const opening = open.open(1, address, { method: "POST" }, none);
  assert.deepEqual(receivers, []);
  await opening;
  assert.deepEqual(receivers, [undefined]);
});

test("globalThis.fetch is read when a request is made", async (t) => {
  const { open } = exchanges({ fetch: undefined });
  const replaced = t.mock.method(globalThis, "fetch", async () => new Response(null));
  await open.open(1, address, {}, none);
  assert.equal(replaced.mock.callCount(), 1);
  assert.equal(replaced.mock.calls[0].this, undefined);
});

test("headers: the core's are above the call's, above the session's, above requestInit's", async () => {
  const { open, asked } = exchanges({
    requestInit: { headers: { a: "init", b: "init", c: "init", d: "init" } },
    headers: new Headers({ b: "session", c: "session", d: "session" }),
  });
  const call = () => ({ given: { c: "call", d: "call" } });
  await open.open(1, address, { headers: new Headers({ d: "core", accept: "text/event-stream" }) }, call);
  assert.deepEqual(asked[0].headers, {
    a: "init",
    b: "session",
    c: "call",
    d: "core",
    accept: "text/event-stream",
  });
});

test("reserved headers of the user's are left out, and a logger is told once", async () => {
  const lines = [];
  const { open, asked } = exchanges({
    headers: () => ({
      Accept: "x",
      "Content-Type": "x",
      "Last-Event-ID": "x",
      "MCP-Session-Id": "x",
      "X-Mine": "y",
    }),
    logger: { warn: (line) => lines.push(line) },
  });
  for (const exchange of [1, 2]) {
    await open.open(exchange, address, { headers: { accept: "application/json" } }, () => ({
      given: { "mcp-name": "x" },
    }));
    assert.deepEqual(asked[exchange - 1].headers, { accept: "application/json", "x-mine": "y" });
  }
  assert.equal(lines.length, 5);
});

test("headers as a function is asked for every request and may be asynchronous", async () => {
  let n = 0;
  const { open, asked } = exchanges({ headers: async () => [["authorization", `Bearer ${++n}`]] });
  await open.open(1, address, {}, none);
  await open.open(2, address, {}, none);
  assert.deepEqual(
    asked.map(({ headers }) => headers.authorization),
    ["Bearer 1", "Bearer 2"],
  );
});

test("headers that fail, or never come, fail the request and start none", async () => {
  const throwing = exchanges({
    headers: () => {
      throw new Error("no token");
    },
  });
  const thrown = await throwing.open.open(1, address, {}, none).catch((caught) => caught);
  assert.equal(thrown.message, "headers() threw: no token");
  assert.equal(thrown.cause.code, "LANDFALL_NOT_SENT");
  assert.deepEqual(throwing.asked, []);
  const hanging = exchanges({ headers: () => new Promise(() => {}), timeouts: { handshakeMs: 20 } });
  await assert.rejects(hanging.open.open(1, address, {}, none), /handshakeMs/);
  assert.deepEqual(hanging.asked, []);
  const useless = exchanges({ headers: () => ({ "bad name": "x" }) });
  await assert.rejects(
    useless.open.open(1, address, {}, none),
    /headers\(\) gave what can't be used: .*bad name/,
  );
});

test("an abort ends the wait for headers, with its timer", async (t) => {
  const { open, asked } = exchanges({ headers: () => new Promise(() => {}) });
  const set = t.mock.method(globalThis, "setTimeout");
  const cleared = t.mock.method(globalThis, "clearTimeout");
  const opening = open.open(1, address, {}, none);
  await Promise.resolve();
  await Promise.resolve();
  assert.equal(set.mock.callCount(), 1);
  open.abort(1);
  await assert.rejects(opening, { name: "AbortError" });
  assert.equal(cleared.mock.calls[0].arguments[0], set.mock.calls[0].result);
  assert.deepEqual(asked, []);
});

test("a request carries the core's method and body, requestInit's members, and no other", async () => {
  const { open, asked } = exchanges({ requestInit: { credentials: "include" } });
  await open.open(1, address, { method: "POST", body: "{}", headers: {} }, none);
  const { signal, headers, ...rest } = asked[0];
  assert.deepEqual(rest, { url: address, credentials: "include", method: "POST", body: "{}" });
  assert.deepEqual(headers, {});
  assert.ok(signal instanceof AbortSignal);
});

test("what is no Response is a rejection, and so is a fetch that throws", async () => {
  for (const answer of [undefined, {}, { status: 200 }]) {
    const { open } = exchanges({ fetch: async () => answer });
    await assert.rejects(open.open(1, address, {}, none), /no Response/);
  }
  const { open } = exchanges({
    fetch: () => {
      throw new Error("thrown");
    },
  });
  await assert.rejects(open.open(1, address, {}, none), /thrown/);
});

test("a status that no response can have is a rejection; a response that fetch hides has none", async () => {
  for (const status of [99_999, -1, 200.5, Number.NaN]) {
    const { open } = exchanges({ fetch: async () => ({ status, headers: new Headers() }) });
    await assert.rejects(open.open(1, address, {}, none), /whose status is/);
  }
  for (const status of [0, 999]) {
    const { open } = exchanges({ fetch: async () => ({ status, headers: new Headers() }) });
    assert.equal((await open.open(1, address, {}, none)).status, status);
  }
});

test("of an endless text that fetch rejects with the core is told the beginning, and its code", async () => {
  const endless = "x ".repeat(1_000_000);
  const cause = Object.assign(new Error(), { code: "ECONNREFUSED" });
  for (const thrown of [endless, new TypeError(endless, { cause })]) {
    const { open } = exchanges({ fetch: () => Promise.reject(thrown) });
    const told = await open.open(1, address, {}, none, 4).catch((caught) => caught);
    assert.equal(told.message.length, 65_536);
    assert.equal(told.cause.code, typeof thrown === "string" ? "" : "ECONNREFUSED");
    assert.equal(open.takeFailure(4).thrown, thrown);
  }
});

test("a body is read when asked for, and ends its exchange", async () => {
  const { open, said } = exchanges();
  await open.open(1, address, {}, none);
  await turn();
  assert.deepEqual(said, []);
  open.read(1, true);
  open.read(99, true);
  await turn();
  assert.deepEqual(said, [
    [1, "body"],
    [1, "END"],
  ]);
  open.abort(1);
});

test("an abort reaches fetch with a fixed reason, rejects at once even where fetch ignores it, and says no more", async () => {
  let signal;
  const { open, said } = exchanges({
    fetch: (_url, init) => {
      signal = init.signal;
      return new Promise(() => {});
    },
  });
  const opening = open.open(1, address, {}, none);
  await turn();
  open.abort(1);
  open.abort(1);
  await assert.rejects(opening, { name: "AbortError", message: "landfall ended this exchange" });
  assert.equal(signal.reason.name, "AbortError");
  assert.deepEqual(said, []);
});

test("a response that comes after the abort is cancelled", async () => {
  let answer;
  let cancelled = false;
  const { open } = exchanges({
    fetch: () =>
      new Promise((resolve) => {
        answer = resolve;
      }),
  });
  const opening = open.open(1, address, {}, none);
  await turn();
  open.abort(1);
  await assert.rejects(opening, { name: "AbortError" });
  const cancel = () => {
    cancelled = true;
  };
  answer(new Response(new ReadableStream({ cancel })));
  await turn();
  assert.equal(cancelled, true);
});

test("an exchange aborted before its microtask makes no request", async () => {
  const { open, asked } = exchanges();
  const opening = open.open(1, address, {}, none);
  open.abort(1);
  await assert.rejects(opening, { name: "AbortError" });
  await turn();
  assert.deepEqual(asked, []);
});

test("abandoned exchanges are aborted and never settle", async () => {
  const { open } = exchanges({ fetch: () => new Promise(() => {}) });
  let settled = false;
  const note = () => {
    settled = true;
  };
  open.open(1, address, {}, none).then(note, note);
  await turn();
  open.abandon();
  await turn();
  assert.equal(settled, false);
});

test("a Response whose body can't be had fails its exchange with the reason, and nothing is left unobserved", async (t) => {
  const unhandled = t.mock.fn();
  process.on("unhandledRejection", unhandled);
  t.after(() => process.off("unhandledRejection", unhandled));
  const throwing = new Response("body");
  Object.defineProperty(throwing, "body", {
    get() {
      throw new Error("no body here");
    },
  });
  const locked = new Response("body");
  locked.body.getReader();
  const used = new Response("body");
  await used.text();
  const cases = [
    [throwing, /no body here/],
    [locked, /locked/],
    [used, /read already/],
  ];
  for (const [response, message] of cases) {
    const { open } = exchanges({ fetch: async () => response });
    await assert.rejects(open.open(1, address, {}, none, 4), message);
    assert.match(open.takeFailure(4).thrown.message, message);
    assert.deepEqual(open.takeFailure(4), {});
  }
  await turn();
  assert.equal(unhandled.mock.callCount(), 0);
});

test("nothing listens on the signal of a request once its head has come, or it has failed", async () => {
  const signals = [];
  const answers = [
    () => new Response("body"),
    () => {
      throw new TypeError("no network");
    },
  ];
  const { open } = exchanges({
    fetch: async (_url, { signal }) => {
      signals.push(signal);
      return answers[signals.length - 1]();
    },
  });
  await open.open(1, address, {}, none);
  await assert.rejects(open.open(2, address, {}, none), /no network/);
  for (const signal of signals) assert.deepEqual(getEventListeners(signal, "abort"), []);
});

test("a session works by a fetch whose responses can't be streamed, or are streams of Node's", async () => {
  const kinds = [
    // React Native's.
    async ({ status, headers }, text) => ({ status, headers, bodyUsed: false, text: async () => text }),
    // node-fetch's.
    async ({ status, headers }, text) => ({ status, headers, body: Readable.from([Buffer.from(text)]) }),
  ];
  for (const kind of kinds) {
    const stub = stubServer(({ body }) => {
      if (body?.method !== "tools/call") return undefined;
      const answer = JSON.stringify({ jsonrpc: "2.0", id: body.id, result: { content: [] } });
      return new Response(`data: ${answer}\n\n`, { headers: { "content-type": "text/event-stream" } });
    });
    const fetch = async (url, init) => {
      const response = await stub.fetch(url, init);
      return kind(response, await response.text());
    };
    const session = await connect(address, { fetch });
    assert.deepEqual(await session.callTool("work").result, { content: [] });
    await session.close();
  }
});
