// Nothing a server sends, or a fetch of the user's gives, may hurt the page, the process or the account.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ServerText } from "../../target/modules/base/server-text.js";
import { connect, LandfallTransport } from "../../target/modules/entry/index.js";
import { LandfallTransport as OfV1 } from "../../target/modules/entry/v1.js";
import { LandfallTransport as OfV2 } from "../../target/modules/entry/v2.js";
import { isExposed } from "../../target/modules/http/addresses.js";
import { timed } from "../support/timed.mjs";
import { fakeSession, turn } from "./support/fake-core.mjs";
import { eventStream, stubServer } from "./support/stub-server.mjs";

const address = "https://server.test/mcp";
const secrets = ["tok-0123456789", "biscuit-42", "key-abcdefgh"];
const hostile = `\u001b[2J\r\n${secrets.join(" ")} ${"x".repeat(120)}${secrets[0]}${"y".repeat(1_000_000)}`;
const initialize = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } },
};

/** What a terminal, a log or somebody else must not see; our own words beside it are short. */
function assertFit(text, most = 500) {
  for (const secret of secrets) assert.ok(!text.includes(secret.slice(0, 8)), text.slice(0, 1_000));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are looked for
  assert.doesNotMatch(text, /[\u0000-\u001f\u007f-\u009f]/);
  assert.ok(text.length < most, `${text.length} characters`);
}

function collected() {
  const lines = [];
  const levels = ["debug", "info", "warn", "error"];
  const logger = Object.fromEntries(levels.map((level) => [level, (...line) => lines.push(line)]));
  return { lines, logger };
}

const sending = {
  headers: { authorization: `Bearer ${secrets[0]}`, cookie: `a=1; b=${secrets[1]}` },
  requestInit: { headers: { "x-api-key": secrets[2] } },
};

/** Answers to `tools/call`, each a way to say something. */
const ways = {
  "the text of a refusal": () => new Response(hostile, { status: 500 }),
  "the text of another refusal": () => new Response(hostile, { status: 418 }),
  "a content type": () => ({
    ...{ status: 200, body: null, bodyUsed: false },
    headers: { get: (name) => (name === "content-type" ? hostile : null) },
  }),
  "the place of a redirect": () =>
    new Response(null, { status: 302, headers: { location: `https://else.test/${encodeURI(hostile)}` } }),
  "what fetch threw": () => {
    throw new TypeError(hostile, { cause: { code: hostile } });
  },
  "text that is no message": () =>
    new Response(`data: ${JSON.stringify(hostile)}\n\n`, {
      headers: { "content-type": "text/event-stream" },
    }),
};

for (const [way, answer] of Object.entries(ways)) {
  test(`in messages and logs ${way} is short, without control characters and without what we sent`, async () => {
    const server = stubServer(({ body }) => (body?.method === "tools/call" ? answer() : undefined));
    // What is no real Response goes around the stub.
    const fetch = (url, init) => {
      const isCall = init.body !== undefined && JSON.parse(init.body).method === "tools/call";
      return isCall ? Promise.resolve().then(answer) : server.fetch(url, init);
    };
    const { lines, logger } = collected();
    const session = await connect(address, { fetch, logger, listen: false, ...sending });
    const error = await session.callTool("work").result.catch((thrown) => thrown);
    assert.equal(error.name, "ToolCallFailedError");
    assertFit(error.message);
    await session.close();
    assert.ok(lines.length > 0);
    for (const line of lines) assertFit(JSON.stringify(line), 2_000);
  });
}

for (const [name, Transport] of Object.entries({ LandfallTransport, OfV1, OfV2 })) {
  test(`${name}: a refusal of the handshake shows nothing that we sent, its text neither`, async () => {
    const replies = [
      () => new Response(hostile, { status: 500 }),
      ({ id }) =>
        Response.json({ jsonrpc: "2.0", id, error: { code: -1, message: hostile } }, { status: 400 }),
    ];
    for (const reply of replies) {
      const server = stubServer(({ body }) => (body?.method === "initialize" ? reply(body) : undefined));
      const authProvider = { token: () => secrets[0] };
      const transport = new Transport(address, { fetch: server.fetch, authProvider, ...sending });
      await transport.start();
      const error = await transport.send(initialize).catch((thrown) => thrown);
      assertFit(error.message);
      for (const secret of secrets) assert.ok(!String(error.data?.text).includes(secret), "the text, too");
      await transport.close();
    }
  });
}

test("the name of a tool that is left out is made fit", async () => {
  const server = stubServer(({ body }) => {
    if (body?.method !== "tools/list") return undefined;
    const inputSchema = { type: "object", properties: { a: { type: "object", "x-mcp-header": "A" } } };
    const odd = { toString: 1, valueOf: 1 };
    return {
      jsonrpc: "2.0",
      id: body.id,
      result: {
        tools: [
          { name: hostile, inputSchema },
          { name: odd, inputSchema },
        ],
      },
    };
  });
  const { lines, logger } = collected();
  const transport = new LandfallTransport(address, {
    fetch: server.fetch,
    logger,
    listen: false,
    ...sending,
  });
  const warnings = [];
  transport.onevent = (event) => event.type === "warning" && warnings.push(event.message);
  await transport.start();
  const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };
  await transport.send({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta } });
  assert.equal(warnings.length, 2);
  for (const text of warnings) assertFit(text);
  for (const line of lines) assertFit(JSON.stringify(line), 2_000);
  await transport.close();
});

test("the name of a tool is made fit for the message of a failure", async () => {
  const { session } = await fakeSession();
  void session.close();
  const call = session.callTool(`a\u001b[2J\nb${"x".repeat(500)}`);
  await assert.rejects(Promise.resolve(call), (error) => {
    const isFit = !error.message.includes("\u001b") && !error.message.includes("\n");
    assert.ok(isFit && error.message.length < 400, error.message);
    return true;
  });
});

test("a text is fit once what we sent is out, also where it would be cut within that", () => {
  const text = new ServerText();
  assert.deepEqual(text.learn("authorization", "Bearer abcd/efgh"), [
    ...["Bearer abcd/efgh", "Bearer%20abcd%2Fefgh", "abcd/efgh", "abcd%2Fefgh"],
  ]);
  text.learn("authorization", "Bearer abcd/efgh");
  assert.equal(text.secrets.length, 4, "each is kept once");
  assert.deepEqual(text.learn("x-flag", "on"), [], "what is short is in many a text");
  assert.equal(text.fit("a Bearer abcd/efgh b /p?t=abcd%2Fefgh"), "a [redacted] b /p?t=[redacted]");
  assert.equal(text.fit(`${"x".repeat(195)}abcd/efgh`), `${"x".repeat(195)}[reda`);
  assert.equal(text.redact("the end is abcd/efg"), "the end is [redacted]");
  for (let n = 0; n < 100; n += 1) text.learn("x-key", `key-${n}-abcdef`);
  assert.equal(text.secrets.length, 64);
  assert.equal(text.fit("key-99-abcdef"), "[redacted]");
});

test("the id of a session is shown nowhere, whether it was begun here or goes on", async () => {
  const { fetch } = stubServer(({ body }) => {
    if (body?.method !== "initialize") return undefined;
    const serverInfo = { name: "stub", version: "1" };
    const result = { protocolVersion: body.params.protocolVersion, capabilities: {}, serverInfo };
    const headers = { "mcp-session-id": "session-4711" };
    return Response.json({ jsonrpc: "2.0", id: body.id, result }, { headers });
  });
  let isBroken = false;
  const headers = () => {
    if (isBroken) throw new Error("no headers in session-4711");
    return {};
  };
  const options = { fetch, headers, listen: false, terminateSessionOnClose: false };
  const begun = await connect(address, options);
  const goesOn = await connect(address, { ...options, state: begun.exportState() });
  isBroken = true;
  for (const session of [begun, goesOn]) {
    assert.equal(session.sessionId, "session-4711");
    const error = await session.callTool("work").result.catch((thrown) => thrown);
    assert.match(error.message, /no headers in \[redacted\]/);
    assert.ok(!error.message.includes("session-4711"), error.message);
    await session.close();
  }
});

test("a token that goes out in the clear is warned of once, and on this machine it is not", async () => {
  for (const [url, count] of [
    ["http://server.test/mcp", 1],
    ["http://127.0.0.1:9/mcp", 0],
    [address, 0],
  ]) {
    const { lines, logger } = collected();
    const { fetch } = stubServer();
    const session = await connect(url, { fetch, logger, listen: false, ...sending });
    await session.callTool("work").result;
    await session.close();
    const warned = lines.filter(([text]) => text.includes("plain http"));
    assert.equal(warned.length, count, url);
    assert.equal(isExposed(url), count === 1);
  }
});

/** A server whose tool calls are streams that the test feeds. */
function streaming() {
  const streams = [];
  const answers = [];
  const server = stubServer(({ body }) => {
    if (body?.method === undefined && body?.id !== undefined) answers.push(body);
    if (body?.method !== "tools/call") return undefined;
    const stream = eventStream();
    streams.push({ ...stream, id: body.id });
    return stream.response;
  });
  return { ...server, streams, answers };
}

async function until(holds) {
  while (!holds()) await turn();
}

test("the handlers of a call's questions are aborted when it ends, those of others are not", async () => {
  const server = streaming();
  const signals = [];
  const onRequest = ({ signal }) => {
    signals.push(signal);
    return new Promise(() => {});
  };
  const session = await connect(address, { fetch: server.fetch, onRequest, listen: false });
  const [one, other] = [session.callTool("a"), session.callTool("b")];
  await until(() => server.streams.length === 2);
  for (const stream of server.streams) stream.event({ id: 1, method: "roots/list" });
  await until(() => signals.length === 2);
  server.streams[0].event({ id: server.streams[0].id, result: {} });
  await one.result;
  assert.deepEqual(
    signals.map(({ aborted }) => aborted),
    [true, false],
  );
  other.cancel();
  await other.result.catch(() => {});
  await until(() => signals[1].aborted);
  await session.close();
});

test("a Client is told to stop the handler of a question whose call has ended", async () => {
  const server = streaming();
  const transport = new LandfallTransport(address, { fetch: server.fetch, listen: false });
  const heard = [];
  transport.onmessage = (message) => heard.push(message);
  await transport.start();
  await transport.send(initialize);
  await transport.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  const call = transport.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "work" } });
  await until(() => server.streams.length === 1);
  const [stream] = server.streams;
  stream.event({ id: 7, method: "roots/list" });
  stream.event({ id: stream.id, result: {} });
  await call;
  const told = heard
    .filter(({ method }) => method !== undefined)
    .map(({ method, id, params }) => [method, id ?? params.requestId]);
  assert.deepEqual(told, [
    ["roots/list", 7],
    ["notifications/cancelled", 7],
  ]);
  await transport.close();
});

test("what a handler throws goes to the logger, and to the server only that it failed", async () => {
  const server = streaming();
  const { lines, logger } = collected();
  const results = [
    () => {
      throw new Error("the password is hunter2");
    },
    () => ({ big: 1n }),
  ];
  const onRequest = () => results.shift()();
  const session = await connect(address, { fetch: server.fetch, onRequest, logger, listen: false });
  const call = session.callTool("a");
  await until(() => server.streams.length === 1);
  const [stream] = server.streams;
  for (const id of [1, 2]) {
    stream.event({ id, method: "roots/list" });
    await until(() => server.answers.length === id);
  }
  assert.deepEqual(
    server.answers.map(({ error }) => error),
    Array(2).fill({ code: -32603, message: "handler failed" }),
  );
  assert.ok(lines.some(([text]) => text.includes("hunter2")));
  stream.event({ id: stream.id, result: {} });
  await call.result;
  await session.close();
});

timed("all pages of a list of tools together have one deadline, and room for one answer", async () => {
  let page = 0;
  const pages = ({ id }, tools) => ({ jsonrpc: "2.0", id, result: { tools, nextCursor: `c${page++}` } });
  const slow = stubServer(async ({ body }) => {
    if (body?.method !== "tools/list") return undefined;
    await new Promise((resolve) => setTimeout(resolve, 60));
    return pages(body, [{ name: "a" }]);
  });
  const session = await connect(address, { fetch: slow.fetch, listen: false });
  const before = performance.now();
  await assert.rejects(session.listTools({ timeouts: { deadlineMs: 200, callMs: 150 } }), {
    name: "ToolCallFailedError",
    reason: "deadline_exceeded",
    method: "tools/list",
    message: /deadlineMs, 200 ms/,
  });
  assert.ok(performance.now() - before < 5_000);
  await session.close();
  const wide = stubServer(({ body }) =>
    body?.method === "tools/list" ? pages(body, [{ name: "x".repeat(400) }]) : undefined,
  );
  const other = await connect(address, { fetch: wide.fetch, listen: false, limits: { maxBodyBytes: 1_000 } });
  page = 0;
  await assert.rejects(other.listTools(), {
    reason: "message_too_large",
    message: /1000 bytes \(limits\.maxBodyBytes\)/,
  });
  assert.equal(page, 3);
  await other.close();
});

test("whatever a fetch rejects with or gives, one call fails and nothing is unhandled", async (t) => {
  const unhandled = [];
  const note = (thrown) => unhandled.push(thrown);
  process.on("unhandledRejection", note);
  t.after(() => process.off("unhandledRejection", note));
  const never = () => {
    throw new Error("do not look");
  };
  const proxy = new Proxy(new Error("x"), {
    ...{ get: never, has: never, getPrototypeOf: never, getOwnPropertyDescriptor: never, ownKeys: never },
  });
  const getter = Object.defineProperty({}, "message", { get: never });
  const response = (members) => Object.defineProperties(new Response("{}"), members);
  const wrong = [
    () => Promise.reject(proxy),
    () => Promise.reject(getter),
    () => Promise.reject(Object.defineProperty(new Error("x"), "cause", { get: never })),
    async () => response({ status: { get: never } }),
    async () => response({ headers: { get: never } }),
    async () => response({ headers: { value: { get: () => 7 } } }),
    async () => response({ headers: { value: { get: never } } }),
    async () => response({ body: { get: never } }),
    async () => response({ bodyUsed: { get: never } }),
    async () => ({ ...{ status: 200, headers: new Headers() }, body: { getReader: never } }),
    async () => ({
      status: 200,
      headers: new Headers(),
      body: { getReader: () => ({ read: () => Promise.reject(proxy) }) },
    }),
    async () =>
      new Proxy(new Response(null, { status: 500 }), {
        get: (of, key) => (key === "statusText" ? never() : Reflect.get(of, key)),
      }),
  ];
  const { fetch } = stubServer();
  let hurt;
  const session = await connect(address, {
    fetch: (url, init) => (hurt !== undefined && init.body?.includes("hurt") ? hurt() : fetch(url, init)),
    listen: false,
    retry: { maxReissues: 0 },
  });
  for (hurt of wrong) {
    const fine = session.callTool("fine").result;
    const error = await session.callTool("hurt").result.catch((thrown) => thrown);
    assert.equal(error.name, "ToolCallFailedError", String(hurt));
    await fine;
  }
  await session.close();
  const transport = new LandfallTransport(address, { fetch: () => Promise.reject(proxy), listen: false });
  await transport.start();
  const error = await transport.send(initialize).catch((thrown) => thrown);
  assert.ok(error instanceof Error);
  await transport.close();
  await turn();
  assert.deepEqual(unhandled, []);
});

test("setProtocolVersion throws for what no header can carry", async () => {
  const transport = new LandfallTransport(address, { fetch: stubServer().fetch });
  for (const version of ["2025-06-18\r\nx: y", "", "a b", 7, undefined])
    assert.throws(() => transport.setProtocolVersion(version), {
      name: "ConfigError",
      option: "protocolVersion",
    });
  transport.setProtocolVersion("2025-06-18");
  assert.equal(transport.protocolVersion, "2025-06-18");
  await transport.close();
});
