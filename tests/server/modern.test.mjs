// The model server of 2026-07-28: what it checks, streams, cuts and asks.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { ModernClient } from "./modern/plain-client.mjs";
import { createModernServer } from "./modern/server.mjs";
import { INVALID_TOOLS } from "./modern/tools.mjs";
import { CAPABILITIES, LOG_LEVEL, SERVER_INFO, SUBSCRIPTION, VERSION } from "./modern/words.mjs";
import { PlainClient, readEvents } from "./plain-client.mjs";

let server;
let client;
before(async () => {
  server = await createModernServer({ ttlMs: 60_000 });
  client = new ModernClient(server.url, { elicitation: {} });
});
afterEach(() => server.reset());
after(() => server.close());

const messagesOf = async (response) => (await readEvents(response)).events.map(({ message }) => message);
const lastOf = async (response) => (await messagesOf(response)).at(-1);
async function refusal(promise) {
  const response = await promise;
  const { error } = await response.json();
  return [response.status, error.code];
}
async function until(condition) {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

test("it says what it is when asked, and refuses an initialize by the versions it has", async () => {
  const found = await client.ask("server/discover");
  assert.deepEqual(found.supportedVersions, ["2026-07-28"]);
  assert.equal(found.resultType, "complete");
  assert.equal(found.ttlMs, 60_000);
  assert.equal(found._meta[SERVER_INFO].name, "landfall-modern-server");
  const response = await fetch(server.url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-11-25" },
    }),
  });
  assert.equal(response.status, 400);
  const { error } = await response.json();
  assert.equal(error.code, -32022);
  assert.deepEqual(error.data, { supported: ["2026-07-28"], requested: "2025-11-25" });
});

test("what it is asked is in the log, header by header", async () => {
  await client.ask("tools/list");
  const { rpc, mcp, meta, status } = server.log[0];
  assert.deepEqual({ rpc, status }, { rpc: "tools/list", status: 200 });
  assert.deepEqual(mcp, { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list" });
  assert.deepEqual(meta[CAPABILITIES], { elicitation: {} });
});

const REFUSALS = [
  ["a request without a protocol version in _meta", 400, -32602, { meta: { [VERSION]: null } }],
  ["a request without capabilities in _meta", 400, -32602, { meta: { [CAPABILITIES]: null } }],
  ["a request without a version in its headers", 400, -32020, { headers: { "mcp-protocol-version": null } }],
  ["a header with another version than the body", 400, -32020, { meta: { [VERSION]: "2027-01-01" } }],
  [
    "a version that it does not have",
    ...[400, -32022],
    { meta: { [VERSION]: "2027-01-01" }, headers: { "mcp-protocol-version": "2027-01-01" } },
  ],
  [
    "a request of an earlier era",
    ...[400, -32022],
    { meta: { [VERSION]: null }, headers: { "mcp-protocol-version": "2025-11-25" } },
  ],
  ["a request without Mcp-Method", 400, -32020, { headers: { "mcp-method": null } }],
  ["another method in the header than in the body", 400, -32020, { headers: { "mcp-method": "tools/call" } }],
];
for (const [what, status, code, options] of REFUSALS) {
  test(`${what}: ${status}, ${code}`, async () => {
    assert.deepEqual(await refusal(client.request("tools/list", {}, options)), [status, code]);
  });
}

test("a call needs its tool's name in a header, in base64 where a header can't carry it", async () => {
  const call = (headers, tool) => client.script("named", [], { headers, tool });
  assert.deepEqual(await refusal(call({ "mcp-name": null })), [400, -32020]);
  assert.deepEqual(await refusal(call({ "mcp-name": "other" })), [400, -32020]);
  assert.equal((await call({ "mcp-name": "=?base64?c2NyaXB0ZWQ=?=" })).status, 200);
  const encoded = `=?base64?${Buffer.from("größe").toString("base64")}?=`;
  assert.deepEqual(await refusal(call({ "mcp-name": encoded }, "größe")), [200, -32602]);
  assert.equal(server.executions("named"), 1);
});

test("a method that it does not have is a 404 with an answer, and a GET is refused by 405", async () => {
  assert.deepEqual(await refusal(client.request("ping")), [404, -32601]);
  const got = await fetch(server.url);
  assert.deepEqual([got.status, got.headers.get("allow")], [405, "POST"]);
});

test("arguments that their tool wants in headers must be there, by the names of the moment", async () => {
  const args = { region: "Münster", priority: 42, where: { zone: "a" } };
  const headers = {
    "mcp-param-region": `=?base64?${Buffer.from(args.region).toString("base64")}?=`,
    "mcp-param-priority": "42.0",
    "mcp-param-zone": "a",
  };
  const call = (change) =>
    client.script("routed", [], { tool: "routed", args, headers: { ...headers, ...change } });
  assert.equal((await call({})).status, 200);
  assert.deepEqual(await refusal(call({ "mcp-param-zone": null })), [400, -32020]);
  assert.deepEqual(await refusal(call({ "mcp-param-priority": "43" })), [400, -32020]);
  assert.deepEqual(await refusal(call({ "mcp-param-dry-run": "true" })), [400, -32020]);
  await (await client.script("renaming", [{ renameHeader: "Area" }])).text();
  assert.deepEqual(await refusal(call({})), [400, -32020]);
  assert.equal((await call({ "mcp-param-area": headers["mcp-param-region"] })).status, 200);
  server.toolbox.rename("Region");
});

test("tools/list comes in pages, with a time to live, and has tools that no client may show", async () => {
  const tools = [];
  let cursor;
  do {
    const page = await client.ask("tools/list", cursor ? { cursor } : {});
    assert.equal(page.ttlMs, 60_000);
    tools.push(...page.tools.map(({ name }) => name));
    cursor = page.nextCursor;
  } while (cursor);
  assert.deepEqual(tools.slice(0, 4), ["scripted", "scripted_read", "scripted_idempotent", "routed"]);
  assert.ok(INVALID_TOOLS.every((name) => tools.includes(name)));
});

test("a call streams its progress and its answer, without ids", async () => {
  const steps = [{ progress: 1, total: 2 }, { message: "unasked" }, { progress: 2, total: 2 }];
  const { events } = await readEvents(await client.script("plain", steps, { meta: { progressToken: 7 } }));
  assert.ok(events.every(({ id }) => id === undefined));
  const [first, second, answer] = events.map(({ message }) => message);
  assert.deepEqual(first.params, { progressToken: 7, progress: 1, total: 2 });
  assert.equal(second.params.progress, 2);
  assert.equal(answer.result.resultType, "complete");
  assert.equal(answer.result.structuredContent.execution, 1);
  assert.deepEqual([server.executions("plain"), server.completions("plain")], [1, 1]);
});

test("messages come to a request that asked for them, from the level that it named", async () => {
  const steps = [
    { message: "little", level: "debug" },
    { message: "much", level: "error" },
  ];
  const messages = await messagesOf(await client.script("log", steps, { meta: { [LOG_LEVEL]: "warning" } }));
  assert.deepEqual(
    messages.flatMap(({ params }) => params?.data ?? []),
    ["much"],
  );
});

test("an answer can be a body of JSON, an error one with its status", async () => {
  const plain = await client.script("json", [{ progress: 1 }], { post: { json: true } });
  assert.match(plain.headers.get("content-type"), /^application\/json/);
  assert.equal((await plain.json()).result.structuredContent.key, "json");
  const { error } = await lastOf(await client.script("error", [{ error: { code: 7, message: "no" } }]));
  assert.deepEqual(error, { code: 7, message: "no" });
  const fault = { error: { code: -32021, message: "no", data: { requiredCapabilities: {} } } };
  assert.deepEqual(await refusal(client.script("post", [], { post: fault })), [400, -32021]);
});

for (const how of ["fin", "rst"]) {
  test(`a stream that is cut by ${how} cancels its run, unless the script goes on`, async () => {
    const steps = [{ comment: true }, { wait: 20 }, { cut: how }, { wait: 50 }];
    const first = await readEvents(await client.script(`cut ${how}`, steps));
    assert.equal(first.cut, true);
    await until(() => server.cancels(`cut ${how}`) === 1);
    await readEvents(await client.script(`on ${how}`, [{ ignoreCancel: true }, ...steps]));
    await until(() => server.completions(`on ${how}`) === 1);
    assert.equal(server.completions(`cut ${how}`), 0);
  });
}

test("closing the stream is the cancel, in the answer of JSON too", async () => {
  for (const [key, post] of Object.entries({ stream: {}, json: { json: true } })) {
    const stop = new AbortController();
    const response = client.script(key, [{ wait: 10_000 }], { post, signal: stop.signal });
    if (key === "stream") await response;
    response.catch(() => {});
    await until(() => server.executions(key) === 1);
    stop.abort();
    await until(() => server.cancels(key) === 1);
  }
});

const ASK = { method: "elicitation/create", params: { mode: "form", message: "Who?", requestedSchema: {} } };
const ACCEPTED = { action: "accept", content: { name: "Ada" } };

test("input is asked for by results, and what was answered before is carried by the client", async () => {
  const steps = [
    { needInput: { inputRequests: { who: ASK } } },
    { needInput: {} },
    { needInput: { inputRequests: { why: ASK, when: ASK } } },
  ];
  const round = async (more) => (await lastOf(await client.script("mrtr", steps, { more }))).result;
  const first = await round();
  assert.equal(first.resultType, "input_required");
  assert.deepEqual(first.inputRequests, { who: ASK });
  const second = await round({ inputResponses: { who: ACCEPTED }, requestState: first.requestState });
  assert.equal(second.inputRequests, undefined);
  const third = await round({ requestState: second.requestState });
  assert.deepEqual(Object.keys(third.inputRequests), ["why", "when"]);
  const again = await round({ inputResponses: { why: ACCEPTED }, requestState: third.requestState });
  assert.deepEqual(Object.keys(again.inputRequests), ["why", "when"]);
  const inputResponses = { why: ACCEPTED, when: ACCEPTED };
  const last = await round({ inputResponses, requestState: again.requestState });
  assert.deepEqual(last.structuredContent, {
    key: "mrtr",
    execution: 1,
    answers: { who: ACCEPTED, why: ACCEPTED, when: ACCEPTED },
  });
});

test("a state that was changed, left out or is another call's is refused", async () => {
  const steps = [{ needInput: { inputRequests: { who: ASK } } }];
  const { result } = await lastOf(await client.script("state", steps));
  const inputResponses = { who: ACCEPTED };
  const with_ = (key, more) => refusal(client.script(key, steps, { more: { inputResponses, ...more } }));
  assert.deepEqual(await with_("state", {}), [200, -32602]);
  assert.deepEqual(await with_("state", { requestState: `${result.requestState}x` }), [200, -32602]);
  assert.deepEqual(await with_("other", { requestState: result.requestState }), [200, -32602]);
});

test("where no state is given, none may come back", async () => {
  const steps = [{ needInput: { inputRequests: { who: ASK }, state: false } }];
  const { result } = await lastOf(await client.script("bare", steps));
  assert.equal(result.requestState, undefined);
  const inputResponses = { who: ACCEPTED };
  const more = { inputResponses, requestState: "made up" };
  assert.deepEqual(await refusal(client.script("bare", steps, { more })), [200, -32602]);
  const last = await lastOf(await client.script("bare", steps, { more: { inputResponses } }));
  assert.deepEqual(last.result.structuredContent.answers, inputResponses);
});

test("what the client can't answer is not asked", async () => {
  const sampling = { method: "sampling/createMessage", params: {} };
  const response = await client.script("sample", [{ needInput: { inputRequests: { sampling } } }]);
  assert.equal(response.status, 400);
  const { error } = await response.json();
  assert.equal(error.code, -32021);
  assert.deepEqual(error.data, { requiredCapabilities: { sampling: {} } });
});

test("a subscription is acknowledged first, and everything on it carries its id", async () => {
  const response = await client.request("subscriptions/listen", {
    notifications: { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: ["a:b"] },
  });
  await until(() => server.subscriptions.count === 1);
  server.addTool("late");
  await (await client.script("update", [{ updateResource: "a:b" }, { updateResource: "a:c" }])).text();
  server.subscriptions.all("comment");
  server.subscriptions.all("end");
  const messages = (await messagesOf(response)).filter(Boolean);
  const { id } = server.log[0];
  const [acknowledged, changed, updated, end] = messages;
  assert.equal(messages.length, 4);
  assert.ok(messages.every(({ params, result }) => (params ?? result)._meta[SUBSCRIPTION] === id));
  assert.equal(acknowledged.method, "notifications/subscriptions/acknowledged");
  assert.deepEqual(acknowledged.params.notifications, {
    toolsListChanged: true,
    resourceSubscriptions: ["a:b"],
  });
  assert.equal(changed.method, "notifications/tools/list_changed");
  assert.deepEqual([updated.method, updated.params.uri], ["notifications/resources/updated", "a:b"]);
  assert.deepEqual([end.id, end.result.resultType], [id, "complete"]);
});

test("a subscription can be dropped, or be ended by a notification", async () => {
  for (const [what, cut, last] of [
    ["rst", true, "notifications/subscriptions/acknowledged"],
    ["cancelled", false, "notifications/cancelled"],
  ]) {
    const response = await client.request("subscriptions/listen", {
      notifications: { toolsListChanged: true },
    });
    setTimeout(() => server.subscriptions.all(what), 20);
    const read = await readEvents(response);
    assert.equal(read.cut, cut);
    assert.equal(read.events.at(-1).message.method, last);
  }
});

test("faults in the address strike the requests they name, after so many and so often", async () => {
  const faults = { "server/discover": { status: 503, after: 1, times: 1 } };
  const there = new ModernClient(`${server.url}?faults=${encodeURIComponent(JSON.stringify(faults))}`);
  const statuses = [];
  for (let n = 0; n < 3; n += 1) statuses.push((await there.request("server/discover")).status);
  assert.deepEqual(statuses, [200, 503, 200]);
});

test("pages may send the headers of the year whose list the address names", async () => {
  const allowed = async (cors) => {
    const response = await fetch(`${server.url}?cors=${cors}`, { method: "OPTIONS" });
    const names = response.headers.get("access-control-allow-headers").split(", ");
    return ["mcp-session-id", "mcp-method"].filter((name) => names.includes(name));
  };
  assert.deepEqual(await allowed("2025"), ["mcp-session-id"]);
  assert.deepEqual(await allowed("2026"), ["mcp-method"]);
  assert.deepEqual(await allowed("both"), ["mcp-session-id", "mcp-method"]);
});

test("a server of both eras has sessions for those who begin with initialize, or has none", async () => {
  for (const legacy of ["sessions", "stateless"]) {
    const both = await createModernServer({ legacy });
    const modern = new ModernClient(both.url);
    assert.deepEqual((await modern.ask("server/discover")).supportedVersions, ["2026-07-28"]);
    const opened = await fetch(both.url, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "initialize",
        params: { protocolVersion: "2025-11-25" },
      }),
    });
    assert.equal((await opened.json()).result.protocolVersion, "2025-11-25");
    assert.equal(opened.headers.has("mcp-session-id"), legacy === "sessions");
    if (legacy === "sessions") {
      const old = await PlainClient.open(both.url);
      await (await old.script("old", [])).text();
      await (await modern.script("old", [])).text();
      assert.equal(both.executions("old"), 2);
    }
    await both.close();
  }
});
