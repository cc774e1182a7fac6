// The headers of a modern request that the wrapper makes from a tool's declarations.
import assert from "node:assert/strict";
import { test } from "node:test";
import { declarationsOf, ToolHeaders } from "../../target/modules/session/tool-headers.js";
import { startedTransport } from "./support/fake-core.mjs";

const text = (header, more = {}) => ({ type: "string", "x-mcp-header": header, ...more });
const schema = (properties, more = {}) => ({ type: "object", properties, ...more });

test("declarations are found at any depth below properties", () => {
  const found = declarationsOf(
    schema({ region: text("Region"), deep: schema({ n: { type: "integer", "x-mcp-header": "N" } }) }),
  );
  assert.deepEqual(found.map(({ path, header }) => [path.join("."), header]).sort(), [
    ["deep.n", "N"],
    ["region", "Region"],
  ]);
  assert.deepEqual(declarationsOf(undefined), []);
  assert.deepEqual(declarationsOf(schema({ a: { type: "string", default: { "x-mcp-header": 5 } } })), []);
});

const wrong = {
  "no string": schema({ a: { type: "string", "x-mcp-header": 5 } }),
  empty: schema({ a: text("") }),
  "no token": schema({ a: text("My Region") }),
  "a line break": schema({ a: text("a\r\nb") }),
  "on a number": schema({ a: { type: "number", "x-mcp-header": "A" } }),
  "on an object": schema({ a: { type: "object", "x-mcp-header": "A" } }),
  "without a type": schema({ a: { "x-mcp-header": "A" } }),
  "twice, but for case": schema({ a: text("Region"), b: text("REGION") }),
  "at the root": { ...text("A") },
  "below items": schema({ a: { type: "array", items: text("A") } }),
  "below a list of items": schema({ a: { type: "array", prefixItems: [text("A")] } }),
  "below anyOf": schema({}, { anyOf: [schema({ a: text("A") })] }),
  "below $defs": schema({}, { $defs: { a: text("A") } }),
  "below definitions": schema({}, { definitions: { a: text("A") } }),
  "below dependentSchemas": schema({}, { dependentSchemas: { b: schema({ a: text("A") }) } }),
  "below patternProperties": schema({}, { patternProperties: { "^x": text("A") } }),
  "below additionalProperties": schema({}, { additionalProperties: text("A") }),
};

test("a declaration that is not valid is told", () => {
  for (const [what, bad] of Object.entries(wrong)) assert.equal(typeof declarationsOf(bad), "string", what);
});

test("a schema nested a hundred thousand deep is walked", () => {
  let deep = text("A");
  for (let i = 0; i < 100_000; i += 1) deep = { not: deep };
  assert.equal(typeof declarationsOf(deep), "string");
});

const nested = (levels) => {
  let deep = { type: "object" };
  for (let i = 0; i < levels; i += 1) deep = schema({ p: deep, a: { type: "string" } });
  return deep;
};

test("properties nested fifty thousand deep are walked in linear time", () => {
  const deep = nested(50_000);
  const before = process.cpuUsage();
  assert.deepEqual(declarationsOf(deep), []);
  const { user } = process.cpuUsage(before);
  // It was 8 s, for each had a path of its own.
  assert.ok(user < 2_000_000, `${user / 1e6} s of CPU`);
});

test("a declaration deeper than 64 properties is not valid", () => {
  const declared = (levels) => {
    let deep = text("A");
    for (let i = 0; i < levels; i += 1) deep = schema({ p: deep });
    return declarationsOf(deep);
  };
  assert.deepEqual(declared(64), [{ path: Array(64).fill("p"), header: "A" }]);
  assert.match(declared(65), /deeper than 64/);
});

test("what is declared is read from the arguments, and left out where there is no value", () => {
  const tools = new ToolHeaders();
  const inputSchema = schema({
    region: text("Region"),
    n: { type: "integer", "x-mcp-header": "N" },
    on: { type: "boolean", "x-mcp-header": "On" },
    gone: text("Gone"),
    at: schema({ zone: text("Zone") }),
  });
  tools.learn({ tools: [{ name: "work", inputSchema }] }, true);
  const args = { region: "日本", n: 5, on: false, gone: null, at: { zone: "a" } };
  assert.deepEqual(tools.of({ name: "work", arguments: args }), {
    Region: "日本",
    N: "5",
    On: "false",
    Zone: "a",
  });
  assert.deepEqual(tools.of({ name: "work", arguments: { n: 2 ** 60, at: 5, region: {} } }), {});
  assert.deepEqual(tools.of({ name: "work" }), {});
  assert.deepEqual(tools.of({ name: "other", arguments: args }), {});
});

test("pages add to what is known, and a new list begins anew", () => {
  const tools = new ToolHeaders();
  const tool = (name) => ({ name, inputSchema: schema({ a: text("A") }) });
  const headers = (name) => tools.of({ name, arguments: { a: "x" } });
  tools.learn({ tools: [tool("one")] }, true);
  tools.learn({ tools: [tool("two")] }, false);
  assert.deepEqual([headers("one"), headers("two")], [{ A: "x" }, { A: "x" }]);
  tools.learn({ tools: [tool("two")] }, true);
  assert.deepEqual(headers("one"), {});
  for (const odd of [undefined, null, 5, [], { tools: 5 }, { tools: [null, 5, {}] }]) tools.learn(odd, false);
  assert.deepEqual(headers("two"), { A: "x" });
});

const meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };
const list = (id, isModern) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/list",
  params: isModern ? { _meta: meta } : {},
});
const tools = [
  { name: "good", inputSchema: schema({ region: text("Region") }) },
  { name: "bad", inputSchema: schema({ a: text("My Region") }) },
];

test("tools with declarations that are not valid are left out of a modern list, with a warning", async () => {
  const warnings = [];
  const logger = { warn: (line) => warnings.push(line) };
  const { transport, core, messages } = await startedTransport({ logger });
  const events = [];
  transport.onevent = (event) => events.push(event);
  const sent = [transport.send(list(1, true)), transport.send(list(2, false))];
  core.answer(1, { jsonrpc: "2.0", id: 1, result: { tools, ttlMs: 5 } });
  core.answer(2, { jsonrpc: "2.0", id: 2, result: { tools } });
  await Promise.all(sent);
  assert.deepEqual(messages[0].result, { tools: [tools[0]], ttlMs: 5 });
  assert.deepEqual(messages[1].result, { tools }, "no business of a legacy session");
  const [{ code, message }] = events.filter(({ type }) => type === "warning");
  assert.equal(code, "invalid_x_mcp_header");
  assert.match(message, /bad/);
  assert.ok(warnings.some((line) => line.includes("bad")));
});

test("the core is given the Client's Mcp-Param headers beside what is declared, and what is ours is never replaced", async () => {
  const asked = [];
  const fetch = async (_url, { headers }) => {
    asked.push(Object.fromEntries(headers));
    return new Response(null, { status: 202 });
  };
  const { transport, core } = await startedTransport({ fetch });
  const listed = transport.send(list(1, true));
  core.answer(1, { jsonrpc: "2.0", id: 1, result: { tools } });
  await listed;
  const call = (id, headers) => {
    const params = { name: "good", arguments: { region: "eu" }, _meta: meta };
    const message = { jsonrpc: "2.0", id, method: "tools/call", params };
    void transport.send(message, headers && { headers }).catch(() => {});
  };
  call(2);
  call(3, { "mcp-param-region": "us", "X-Trace": "t" });
  const hostile = {
    Authorization: "x",
    DPoP: "x",
    "Content-Type": "x",
    "Mcp-Session-Id": "x",
    "mcp-name": "x",
  };
  call(4, { ...hostile, "MCP-Param-Other": "o" });
  for (const number of [2, 3, 4]) {
    const headers = { "mcp-name": "good", "content-type": "application/json" };
    await core.open(number, { call: number, headers });
  }
  const ours = { "mcp-name": "good", "content-type": "application/json" };
  assert.deepEqual(asked, [ours, { ...ours, "x-trace": "t" }, ours]);
  const specs = core
    .called("call")
    .slice(-3)
    .map(([, , spec]) => spec);
  const declaredParams = { Region: "eu" };
  const given = [undefined, { region: "us" }, { other: "o" }];
  assert.deepEqual(
    specs.map(({ paramHeaders, declaredParams }) => ({ paramHeaders, declaredParams })),
    given.map((paramHeaders) => ({ paramHeaders, declaredParams })),
  );
  await transport.close();
});

test("a subscription is the Client's by his own id", async () => {
  const { transport, core, messages } = await startedTransport();
  const params = { _meta: meta, notifications: {} };
  const sent = transport.send({ jsonrpc: "2.0", id: "listen:1", method: "subscriptions/listen", params });
  const member = "io.modelcontextprotocol/subscriptionId";
  const tell = (method, id) => core.message(1, method, { _meta: { [member]: id, other: 1 } });
  const first = JSON.parse(core.called("call")[0][2].id);
  assert.equal(typeof first, "string");
  assert.notEqual(first, "listen:1");
  tell("notifications/subscriptions/acknowledged", first);
  tell("notifications/tools/list_changed", first);
  tell("notifications/tools/list_changed", "of another");
  core.answer(1, { jsonrpc: "2.0", id: first, result: { _meta: { [member]: first } } });
  await sent;
  const result = messages.pop();
  assert.deepEqual(result, { jsonrpc: "2.0", id: "listen:1", result: { _meta: { [member]: "listen:1" } } });
  assert.deepEqual(
    messages.map((message) => [message.method.split("/").at(-1), message.params._meta]),
    [
      ["acknowledged", { [member]: "listen:1", other: 1 }],
      ["list_changed", { [member]: "listen:1", other: 1 }],
      ["list_changed", { [member]: "of another", other: 1 }],
    ],
  );
  await transport.close();
});
