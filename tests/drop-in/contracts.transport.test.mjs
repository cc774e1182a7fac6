// What an SDK does to a transport besides sending: the same for each entry of the package.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { PlainClient, readEvents } from "../server/plain-client.mjs";
import { createFaultServer } from "../server/server.mjs";
import { cases } from "./cases.mjs";
import { callOf, openRaw } from "./raw.mjs";
import { serveStub } from "./stub.mjs";
import { isOfficial, kinds, landfall, ours } from "./transports.mjs";
import { until } from "./until.mjs";

let server;
before(async () => {
  server = await createFaultServer();
});
after(() => server.close());

const postOf = (key) => server.log.find((entry) => entry.rpc === "tools/call" && entry.key === key);
const withFaults = (faults) => `${server.url}?faults=${encodeURIComponent(JSON.stringify(faults))}`;

const { it, runFor } = cases();

it("its start can be replaced, and it is not taken for a child process", async ({ create }, stage) => {
  const transport = stage.keep(create(server.url));
  let starts = 0;
  const own = transport.start;
  transport.start = async () => {
    starts += 1;
    transport.start = own;
  };
  await transport.start();
  assert.equal(starts, 1);
  assert.ok(Object.isExtensible(transport));
  assert.equal("stderr" in transport && "pid" in transport, false);
  await openRaw(transport);
});

it("it says what the SDKs ask for", ours, async ({ create }, stage) => {
  const transport = stage.keep(create(server.url));
  assert.equal(transport.hasPerRequestStream, true);
  assert.equal(transport.supportsProtocolVersionDiscovery, true);
  assert.equal(transport.waitsForProtocolVersionDiscovery, true);
  assert.equal(transport.supportsMcpToolParameterHeaders, true);
  assert.equal(transport.sessionId, undefined);
  assert.equal(transport.protocolVersion, undefined);
  transport.setSupportedProtocolVersions?.(["2025-11-25"]);
});

it("the callbacks of the moment are called, not those of the start", async ({ create, name }, stage) => {
  const { transport, received } = await openRaw(stage.keep(create(server.url)));
  const later = [];
  const steps = [{ message: "one" }, { wait: 300 }, { message: "two" }];
  const sending = transport.send(callOf(1, `callbacks ${name}`, steps));
  await until(() => received.length === 1);
  transport.onmessage = (message) => later.push(message);
  await sending;
  await until(() => later.length === 2);
  assert.equal(received.length, 1);
  transport.onmessage = undefined;
  await transport.send(callOf(2, `nobody ${name}`, [{ message: "three" }]));
  assert.equal(later.length, 2);
});

it("a callback that throws harms no other message", async ({ create, name }, stage) => {
  const { transport } = await openRaw(stage.keep(create(server.url)));
  const received = [];
  transport.onmessage = (message) => {
    received.push(message);
    if (received.length === 1) throw new Error("not mine");
  };
  transport.onerror = () => {
    throw new Error("not mine either");
  };
  if (isOfficial) transport.onerror = () => {};
  await transport.send(callOf(1, `throws ${name}`, [{ message: "one" }, { message: "two" }]));
  await until(() => received.length === 3);
});

it("the version that was set is in the header of what follows", async ({ create, name }, stage) => {
  const { transport } = await openRaw(stage.keep(create(server.url)));
  await transport.send(callOf(1, `version ${name}`, []));
  assert.equal(postOf(`version ${name}`).protocolVersion, "2025-11-25");
  assert.equal(transport.protocolVersion, "2025-11-25");
});

it("terminateSession sends a DELETE and forgets the session; a 405 is no error", async ({
  create,
}, stage) => {
  for (const url of [server.url, withFaults({ DELETE: { status: 405 } })]) {
    const { transport, errors } = await openRaw(stage.keep(create(url)));
    const { sessionId } = transport;
    assert.match(sessionId, /^[!-~]+$/);
    await transport.terminateSession();
    const deletes = () =>
      server.log.filter(({ method, session }) => method === "DELETE" && session === sessionId);
    assert.equal(deletes().length, 1);
    assert.equal(transport.sessionId, undefined);
    await transport.terminateSession();
    await transport.close();
    assert.equal(deletes().length, 1);
    if (!isOfficial) assert.deepEqual(errors, []);
  }
});

it("the standing stream is opened after `initialized`, and a 405 to it is no error", async ({
  create,
}, stage) => {
  const open = await openRaw(stage.keep(create(server.url)));
  const { sessionId } = open.transport;
  await until(() => server.log.some(({ method, session }) => method === "GET" && session === sessionId));
  const none = await openRaw(stage.keep(create(withFaults({ GET: { status: 405 } }))));
  await until(() =>
    server.log.some(({ method, session }) => method === "GET" && session === none.transport.sessionId),
  );
  await sleep(200);
  assert.deepEqual([...open.errors, ...none.errors], []);
});

it("resumeStream takes up what another client began", async ({ create, name }, stage) => {
  const plain = await PlainClient.open(server.url);
  const steps = [
    { prime: true },
    { message: "a" },
    { close: true },
    { awaitResume: true },
    { message: "b" },
    { wait: 100 },
  ];
  const { events } = await readEvents(await plain.script(`resumed ${name}`, steps));
  const transport = stage.keep(create(server.url, { sessionId: plain.session }));
  const received = [];
  const tokens = [];
  transport.onmessage = (message) => received.push(message);
  transport.setProtocolVersion("2025-11-25");
  await transport.start();
  await transport.resumeStream(events.at(-1).id, { onresumptiontoken: (token) => tokens.push(token) });
  await until(() => received.some(({ params }) => params?.data === "b"));
  assert.ok(tokens.length > 0);
  const resume = ({ session, lastEventId }) => session === plain.session && lastEventId === events.at(-1).id;
  assert.ok(server.log.some(resume));
});

it("a preset session is kept by close", ours, async ({ create, name }, stage) => {
  const plain = await PlainClient.open(server.url);
  const transport = stage.keep(
    create(server.url, { sessionId: plain.session, protocolVersion: "2025-11-25" }),
  );
  await transport.start();
  assert.equal(transport.sessionId, plain.session);
  await transport.send(callOf(7, `preset ${name}`, []));
  assert.equal(postOf(`preset ${name}`).session, plain.session);
  await transport.close();
  assert.equal(
    server.log.some(({ method, session }) => method === "DELETE" && session === plain.session),
    false,
  );
});

it("headers of a request are sent, but no reserved ones", ours, async ({ create }, stage) => {
  const stub = stage.keep(await serveStub());
  const reserved = {
    accept: "text/plain",
    authorization: "Bearer evil",
    "content-type": "text/plain",
    "last-event-id": "evil",
    "mcp-session-id": "evil",
    "MCP-Protocol-Version": "1999-01-01",
    "Mcp-Method": "evil",
    "Mcp-Name": "evil",
  };
  const authProvider = { token: () => "mine", onUnauthorized() {} };
  const requestInit = { headers: { "mcp-session-id": "evil", "x-always": "yes" } };
  const { transport } = await openRaw(stage.keep(create(stub.url, { authProvider, requestInit })));
  await transport.send(callOf(1, "headers", []), {
    headers: { ...reserved, "Mcp-Param-Region": "eu", "x-once": "yes" },
  });
  const { headers } = stub.requests.find(({ body }) => body?.method === "tools/call");
  const values = JSON.stringify(headers);
  assert.doesNotMatch(values, /evil|text\/plain|1999/);
  assert.equal(headers["mcp-param-region"], "eu");
  assert.equal(headers["x-once"], "yes");
  assert.equal(headers["x-always"], "yes");
  assert.equal(headers.authorization, "Bearer mine");
});

it("an option that nobody knows is ignored, and the logger told", ours, async ({ create }, stage) => {
  const warnings = [];
  const transport = stage.keep(
    create(server.url, { nonsense: true, logger: { warn: (text) => warnings.push(text) } }),
  );
  assert.match(warnings.join(), /nonsense/);
  await openRaw(transport);
});

it("an option that can't be is refused by its name, before anything is sent", ours, async ({ create }) => {
  const open = async () => create(server.url, { timeouts: { callMs: 5_000, recoveryMs: 1_000 } }).start();
  await assert.rejects(open, (error) => error instanceof landfall.ConfigError && error.option === "callMs");
});

it("the options of the official transports are taken", ({ create }) => {
  const reconnectionOptions = {
    initialReconnectionDelay: 1_000,
    maxReconnectionDelay: 30_000,
    reconnectionDelayGrowFactor: 1.5,
    maxRetries: 2,
  };
  const options = {
    authProvider: undefined,
    requestInit: { headers: {} },
    fetch: (...args) => fetch(...args),
    redirectPolicy: "same-origin",
    reconnectionOptions,
    reconnectionScheduler: (reconnect, delay) => void setTimeout(reconnect, delay),
    sessionId: undefined,
    protocolVersion: undefined,
    onInsufficientScope: "throw",
    maxStepUpRetries: 1,
    skipIssuerMetadataValidation: false,
  };
  assert.ok(create(new URL(server.url), options));
});

runFor(kinds);
