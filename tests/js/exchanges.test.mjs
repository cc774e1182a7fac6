// Exchanges over `fetch`: headers, receivers, credentials, what is said of a failure.
import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { Readable } from "node:stream";
import { mock, test } from "node:test";
import { connect } from "../../target/modules/entry/index.js";
import { exchangesOf } from "./support/exchanges.mjs";
import { turn } from "./support/fake-core.mjs";
import { stubServer } from "./support/stub-server.mjs";
import "./support/timers.mjs";

const address = "https://server.test/mcp";

/** Exchanges over a `fetch` of the test's, and what they were asked and said. */
function exchanges(options = {}) {
  const asked = [];
  const said = [];
  const fetch = (url, init) => {
    asked.push({ url, ...init, headers: Object.fromEntries(init.headers) });
    return Promise.resolve(new Response("body"));
  };
  const sink = {
    // The list itself is the core's, and tested there.
    isReserved: (name) =>
      ["accept", "content-type", "last-event-id"].includes(name) || name.startsWith("mcp-"),
    push: (exchange, bytes) => said.push([exchange, new TextDecoder().decode(bytes)]),
    end: (exchange) => said.push([exchange, "END"]),
    fail: (exchange, message, code) => said.push([exchange, "FAIL", message, code]),
  };
  return { ...exchangesOf({ fetch, ...options }, sink), asked, said };
}

test("fetch runs in a microtask of its own, and bare", async () => {
  const receivers = [];
  const { ask } = exchanges({
    fetch() {
      receivers.push(this);
      return Promise.resolve(new Response(null));
    },
  });
  const opening = ask(1);
  assert.deepEqual(receivers, []);
  await opening;
  assert.deepEqual(receivers, [undefined]);
});

test("globalThis.fetch is read when a request is made", async (t) => {
  const { ask } = exchanges({ fetch: undefined });
  const replaced = t.mock.method(globalThis, "fetch", async () => new Response(null));
  await ask(1);
  assert.equal(replaced.mock.callCount(), 1);
  assert.equal(replaced.mock.calls[0].this, undefined);
});

test("whatever is put in the place of fetch is given Headers", async (t) => {
  const { ask } = exchanges({ fetch: undefined });
  const replaced = t.mock.method(globalThis, "fetch", async () => new Response(null));
  await ask(1);
  assert.ok(replaced.mock.calls[0].arguments[1].headers instanceof Headers);
});

test("headers: the core's are above the call's, above the session's, above requestInit's", async () => {
  const { ask, asked } = exchanges({
    requestInit: { headers: { a: "init", b: "init", c: "init", d: "init" } },
    headers: new Headers({ b: "session", c: "session", d: "session" }),
  });
  const of = { given: { c: "call", d: "call" } };
  await ask(1, { headers: { d: "core", accept: "text/event-stream" }, of });
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
  const { ask, asked } = exchanges({
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
    await ask(exchange, { headers: { accept: "application/json" }, of: { given: { "mcp-name": "x" } } });
    assert.deepEqual(asked[exchange - 1].headers, { accept: "application/json", "x-mine": "y" });
  }
  assert.equal(lines.length, 5);
});

test("headers as a function is asked for every request and may be asynchronous", async () => {
  let n = 0;
  const { ask, asked } = exchanges({ headers: async () => [["authorization", `Bearer ${++n}`]] });
  await ask(1);
  await ask(2);
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
  const thrown = await throwing.ask(1).catch((caught) => caught);
  assert.equal(thrown.message, "headers() threw: no token");
  assert.equal(thrown.code, "LANDFALL_NOT_SENT");
  assert.deepEqual(throwing.asked, []);
  const hanging = exchanges({ headers: () => new Promise(() => {}), timeouts: { handshakeMs: 20 } });
  await assert.rejects(hanging.ask(1), /handshakeMs/);
  assert.deepEqual(hanging.asked, []);
  const useless = exchanges({ headers: () => ({ "bad name": "x" }) });
  await assert.rejects(useless.ask(1), /headers\(\) gave what can't be used: .*bad name/);
});

test("an abort ends the wait for headers, with its timer", async (t) => {
  const { open, ask, asked } = exchanges({ headers: () => new Promise(() => {}) });
  const set = t.mock.method(globalThis, "setTimeout");
  const cleared = t.mock.method(globalThis, "clearTimeout");
  void ask(1);
  await Promise.resolve();
  await Promise.resolve();
  assert.equal(set.mock.callCount(), 1);
  open.abort(1);
  assert.equal(cleared.mock.calls[0].arguments[0], set.mock.calls[0].result);
  assert.deepEqual(asked, []);
});

test("a request carries the core's method and body, requestInit's members, and no other", async () => {
  const { ask, asked } = exchanges({ requestInit: { credentials: "include" } });
  await ask(1, { body: "{}" });
  const { signal, headers, ...rest } = asked[0];
  const own = { method: "POST", redirect: "manual", body: "{}" };
  assert.deepEqual(rest, { url: address, credentials: "include", ...own });
  assert.deepEqual(headers, {});
  assert.ok(signal instanceof AbortSignal);
});

test("what is no Response is a rejection, and so is a fetch that throws", async () => {
  for (const answer of [undefined, {}, { status: 200 }]) {
    const { ask } = exchanges({ fetch: async () => answer });
    await assert.rejects(ask(1), /no Response/);
  }
  const { ask } = exchanges({
    fetch: () => {
      throw new Error("thrown");
    },
  });
  await assert.rejects(ask(1), /thrown/);
});

test("a status that no response can have is a rejection; a response that fetch hides has none", async () => {
  for (const status of [99_999, -1, 200.5, Number.NaN]) {
    const { ask } = exchanges({ fetch: async () => ({ status, headers: new Headers() }) });
    await assert.rejects(ask(1), /whose status is/);
  }
  for (const status of [0, 999]) {
    const { ask } = exchanges({ fetch: async () => ({ status, headers: new Headers() }) });
    assert.equal((await ask(1)).status, status);
  }
});

test("of an endless text that fetch rejects with the core is told the beginning, and its code", async () => {
  const endless = "x ".repeat(1_000_000);
  const cause = Object.assign(new Error(), { code: "ECONNREFUSED" });
  for (const thrown of [endless, new TypeError(endless, { cause })]) {
    const { open, ask } = exchanges({ fetch: () => Promise.reject(thrown) });
    const told = await ask(1, { call: 4 }).catch((caught) => caught);
    assert.equal(told.message.length, 65_536);
    assert.equal(told.code, typeof thrown === "string" ? "" : "ECONNREFUSED");
    assert.equal(open.takeFailure(4).thrown, thrown);
  }
});

test("a body is read when asked for, and ends its exchange", async () => {
  const { open, ask, said } = exchanges();
  await ask(1);
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

test("an abort reaches fetch with a fixed reason, and no more is said, whatever fetch does", async () => {
  let signal;
  let refuse;
  const { open, ask, said } = exchanges({
    fetch: (_url, init) => {
      signal = init.signal;
      return new Promise((_resolve, reject) => {
        refuse = reject;
      });
    },
  });
  const told = mock.fn();
  ask(1).then(told, told);
  await turn();
  open.abort(1);
  open.abort(1);
  assert.deepEqual(
    [signal.reason.name, signal.reason.message],
    ["AbortError", "landfall ended this exchange"],
  );
  refuse(signal.reason);
  await turn();
  assert.deepEqual(said, []);
  assert.equal(told.mock.callCount(), 0);
});

test("a response that comes after the abort is cancelled", async () => {
  let answer;
  let cancelled = false;
  const { open, ask } = exchanges({
    fetch: () =>
      new Promise((resolve) => {
        answer = resolve;
      }),
  });
  void ask(1);
  await turn();
  open.abort(1);
  const cancel = () => {
    cancelled = true;
  };
  answer(new Response(new ReadableStream({ cancel })));
  await turn();
  assert.equal(cancelled, true);
});

test("an exchange aborted before its microtask makes no request", async () => {
  const { open, ask, asked } = exchanges();
  void ask(1);
  open.abort(1);
  await turn();
  assert.deepEqual(asked, []);
});

test("exchanges that are ended all are aborted, and tell nothing", async () => {
  const { open, ask } = exchanges({ fetch: () => new Promise(() => {}) });
  let settled = false;
  const note = () => {
    settled = true;
  };
  ask(1).then(note, note);
  await turn();
  open.abortAll();
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
    const { open, ask } = exchanges({ fetch: async () => response });
    await assert.rejects(ask(1, { call: 4 }), message);
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
  const { ask } = exchanges({
    fetch: async (_url, { signal }) => {
      signals.push(signal);
      return answers[signals.length - 1]();
    },
  });
  await ask(1);
  await assert.rejects(ask(2), /no network/);
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

test("a call is timed by two timers: the core's one, whatever clocks it has, and its second deadline", async (t) => {
  const { fetch } = stubServer();
  const session = await connect(address, { fetch });
  const set = t.mock.method(globalThis, "setTimeout");
  for (let call = 0; call < 5; call += 1) await session.callTool("work").result;
  assert.equal(set.mock.callCount(), 10);
  await session.close();
});
