// Who may come in, and how much of it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { request } from "node:http";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { readSettings, SetupError } from "../../www/relay/relay/settings.mjs";
import { blocks, Clock, call, Raw, stage, until } from "./stage.mjs";

const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
const UPSTREAM = "http://127.0.0.1:1/mcp";

async function staged(t, options) {
  const at = await stage(options);
  t.after(() => at.close());
  return at;
}

test("a relay starts with a secret, an access check or the word that it is public, and not without", () => {
  assert.throws(() => readSettings({ UPSTREAM }), SetupError);
  for (const word of ["", "0", "true"])
    assert.throws(() => readSettings({ UPSTREAM, PUBLIC: word }), SetupError);
  assert.throws(() => readSettings({ PUBLIC: "1" }), /UPSTREAM/);
  assert.throws(() => readSettings({ UPSTREAM: "http://me:pass@host/", PUBLIC: "1" }), /UPSTREAM_TOKEN/);
  assert.throws(() => readSettings({ UPSTREAM, PUBLIC: "1", GRACE_MS: "-1" }), /GRACE_MS/);
  assert.ok(readSettings({ UPSTREAM, SECRET: "s" }));
  assert.ok(readSettings({ UPSTREAM, PUBLIC: "1" }));
  assert.ok(readSettings({ UPSTREAM }, { hasAccess: true }));
});

test("the process says what is missing, and ends", async () => {
  const file = fileURLToPath(new URL("../../www/relay/relay/settings.mjs", import.meta.url));
  const program = `import { readSettings } from ${JSON.stringify(file)}; readSettings(process.env)`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], { env: { UPSTREAM } });
  let told = "";
  for await (const chunk of child.stderr) told += chunk;
  assert.match(told, /no SECRET/);
});

test("with a secret only who sends it comes in, before any session is looked up", async (t) => {
  const at = await staged(t, { env: { PUBLIC: "", SECRET: "s3cret" } });
  for (const authorization of [
    undefined,
    "",
    "Bearer",
    "Bearer s3cre",
    "Bearer s3cret1",
    "s3cret",
    "Bearer S3cret",
  ]) {
    const raw = new Raw(at.url, authorization === undefined ? {} : { authorization });
    const { response } = await raw.initialize().catch(() => ({ response: undefined }));
    assert.equal(response?.status ?? (await raw.post(ping)).status, 401, authorization);
    assert.equal((await raw.get("x", { headers: { "mcp-session-id": "0".repeat(32) } })).status, 401);
  }
  const raw = new Raw(at.url, { authorization: "Bearer s3cret" });
  assert.equal((await raw.initialize()).response.status, 200);
  assert.ok(
    at.upstream.log.every(({ headers }) => headers.authorization === undefined),
    "it is for the relay alone",
  );
});

test("the server's token goes to the server alone", async (t) => {
  const server = { token: "upstream-token" };
  const at = await staged(t, { server, env: { UPSTREAM_TOKEN: "upstream-token" } });
  const raw = new Raw(at.url, { authorization: "Bearer the callers" });
  const { body } = await raw.initialize();
  const read = await blocks(await raw.post(call(1, "count", { key: "t" })));
  assert.equal(read.at(-1).data.result.content[0].text, "run 1");
  assert.doesNotMatch(JSON.stringify([body, read]), /upstream-token/);
  assert.ok(at.upstream.log.every(({ headers }) => headers.authorization === "Bearer upstream-token"));
});

test("a server that refuses the relay is told as unreachable, and no session is left", async (t) => {
  const at = await staged(t, { server: { token: "other" }, env: { UPSTREAM_TOKEN: "mine" } });
  const { response, body } = await new Raw(at.url).initialize();
  assert.equal(response.status, 502);
  assert.equal(body.error.data["io.landfall/failure"].reason, "unauthorized");
  assert.doesNotMatch(JSON.stringify(body), /mine/);
  assert.equal(at.relay.sessions.size, 0);
});

test("another caller's session is not found", async (t) => {
  const access = (request) => request.headers.get("x-user") ?? undefined;
  const at = await staged(t, { env: { PUBLIC: "" }, access });
  const ann = new Raw(at.url, { "x-user": "ann" });
  await ann.initialize();
  const asBob = { headers: { "x-user": "bob" } };
  assert.equal((await ann.post(ping)).status, 200);
  assert.equal((await ann.post(ping, asBob)).status, 404);
  assert.equal((await ann.get(undefined, asBob)).status, 404);
  assert.equal((await ann.post(ping, { headers: { "x-user": "" } })).status, 401);
  assert.match(at.relay.register.metrics(), /mismatched_sessions_total 2\n/);
});

test("what is missing or not known has the status that clients know", async (t) => {
  const at = await staged(t);
  const raw = new Raw(at.url);
  const unknown = { headers: { "mcp-session-id": "f".repeat(32) } };
  assert.equal((await raw.post(ping)).status, 400, "no session");
  assert.equal((await raw.post(ping, unknown)).status, 404);
  assert.equal((await raw.post(ping, { headers: { "mcp-session-id": "../x" } })).status, 404);
  assert.equal((await raw.get()).status, 405);
  assert.equal((await raw.get("1-1/1", unknown)).status, 404);
  assert.equal((await raw.delete()).status, 400);
  assert.equal((await raw.post("{")).status, 400);
  assert.equal((await raw.post([])).status, 400);
  assert.equal((await raw.post({ jsonrpc: "2.0", id: null, method: "ping" })).status, 400);
  assert.equal((await fetch(at.url, { method: "PUT" })).status, 405);
  assert.equal((await fetch(new URL("/", at.url))).status, 404);
  await raw.initialize();
  for (const id of ["Infinity", "x", "000000-1/1", "-1/1"]) assert.equal((await raw.get(id)).status, 400, id);
  assert.equal((await raw.post(ping, { headers: { "mcp-protocol-version": "1999-01-01" } })).status, 400);
  const again = { jsonrpc: "2.0", id: 9, method: "initialize", params: {} };
  assert.equal((await raw.post(again)).status, 400);
});

test("a request of the era without sessions is a bare 400, and nothing is made", async (t) => {
  const at = await staged(t);
  const params = { _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } };
  const response = await new Raw(at.url).post({ jsonrpc: "2.0", id: 1, method: "server/discover", params });
  assert.equal(response.status, 400);
  assert.equal(await response.text(), "");
  assert.equal(at.upstream.log.length, 0);
  assert.equal(at.relay.sessions.size, 0);
});

test("a body of another type is refused, and a large one is read no further than it may be long", async (t) => {
  const at = await staged(t, { env: { MOST_BODY_BYTES: "1000" } });
  const plain = await fetch(at.url, { method: "POST", body: JSON.stringify(ping) });
  assert.equal(plain.status, 415);
  const form = await new Raw(at.url).post(ping, { headers: { "content-type": "application/jsonp" } });
  assert.equal(form.status, 415);
  const long = JSON.stringify({ ...ping, params: { x: "x".repeat(2_000) } });
  assert.equal((await new Raw(at.url).post(long)).status, 413);
  assert.equal(await endless(at.url), 413);
});

/** The status of a body that never ends, and says no length. */
function endless(url) {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: "POST", headers: { "content-type": "application/json" } });
    const timer = setInterval(() => sent.write("x".repeat(600)), 5);
    sent.on("response", ({ statusCode }) => {
      clearInterval(timer);
      sent.destroy();
      resolve(statusCode);
    });
    sent.on("error", reject);
  });
}

test("only pages that are named may come, and locally only by a name of this machine", async (t) => {
  const env = { ORIGINS: "https://page.test, http://localhost:*", HOSTS: "127.0.0.1, localhost" };
  const at = await staged(t, { env });
  const from = (origin) => new Raw(at.url, { origin }).initialize();
  for (const origin of ["https://page.test", "http://localhost:5173", "http://localhost"]) {
    const { response } = await from(origin);
    assert.equal(response.status, 200, origin);
    assert.equal(response.headers.get("access-control-allow-origin"), origin);
    assert.match(response.headers.get("access-control-expose-headers"), /mcp-session-id/);
  }
  for (const origin of [
    "https://evil.test",
    "null",
    "https://page.test:8443",
    "http://localhost.evil.test",
  ]) {
    const response = await new Raw(at.url, { origin }).post(ping);
    assert.equal(response.status, 403, origin);
    assert.equal(response.headers.get("access-control-allow-origin"), null);
  }
  assert.equal(await statusWithHost(at.url, "evil.test"), 403);
  assert.equal(await statusWithHost(at.url, "localhost:99"), 400);
});

function statusWithHost(url, host) {
  return new Promise((resolve, reject) => {
    const headers = { host, "content-type": "application/json" };
    const sent = request(url, { method: "POST", headers }, ({ statusCode }) => resolve(statusCode));
    sent.on("error", reject);
    sent.end(JSON.stringify(ping));
  });
}

test("a preflight allows the headers of every version", async (t) => {
  const at = await staged(t, { env: { ORIGINS: "*" } });
  const headers = {
    origin: "https://page.test",
    "access-control-request-method": "POST",
    "access-control-request-headers": "mcp-session-id, mcp-param-region, x-other",
  };
  const response = await fetch(at.url, { method: "OPTIONS", headers });
  assert.equal(response.status, 204);
  const allowed = response.headers.get("access-control-allow-headers").split(", ");
  for (const name of [
    "content-type",
    "last-event-id",
    "mcp-session-id",
    "mcp-protocol-version",
    "mcp-method",
    "mcp-name",
  ])
    assert.ok(allowed.includes(name), name);
  assert.ok(allowed.includes("mcp-param-region"));
  assert.ok(!allowed.includes("x-other"));
  assert.ok(Number(response.headers.get("access-control-max-age")) > 0);
});

test("a tool that is not named is not shown and not called; without names none is", async (t) => {
  const at = await staged(t, { env: { TOOLS: "count" } });
  const raw = new Raw(at.url);
  await raw.initialize();
  const listed = await blocks(await raw.post({ jsonrpc: "2.0", id: 1, method: "tools/list" }));
  assert.deepEqual(
    listed.at(-1).data.result.tools.map(({ name }) => name),
    ["count"],
  );
  const refused = await blocks(await raw.post(call(2, "hold", { key: "no" })));
  assert.equal(refused.at(-1).data.error.code, -32602);
  assert.equal(at.upstream.runs("no"), 0);
  const none = await staged(t, { env: { TOOLS: "" } });
  const other = new Raw(none.url);
  await other.initialize();
  const error = (await blocks(await other.post(call(1, "count", { key: "no" })))).at(-1).data.error;
  assert.equal(error.code, -32602);
});

test("a caller has so many sessions, so many calls, and so many bytes, and is told when to try again", async (t) => {
  const env = { MOST_SESSIONS: "2", MOST_CALLS: "2", MOST_KEPT_BYTES: "100000" };
  const at = await staged(t, { env });
  const [one, two, three] = [new Raw(at.url), new Raw(at.url), new Raw(at.url)];
  await one.initialize();
  await two.initialize();
  const { response } = await three.initialize();
  assert.equal(response.status, 429);
  assert.ok(Number(response.headers.get("retry-after")) > 0);
  const open = [
    await one.post(call(1, "hold", { key: "q1" })),
    await two.post(call(1, "hold", { key: "q2" })),
  ];
  const busy = await one.post(call(2, "count", { key: "q3" }));
  assert.equal(busy.status, 429);
  assert.equal(busy.headers.get("retry-after"), "1");
  assert.equal(at.upstream.runs("q3"), 0);
  for (const key of ["q1", "q2"]) at.upstream.release(key);
  await Promise.all(open.map((each) => blocks(each)));
  await one.delete();
  assert.equal((await three.initialize()).response.status, 200);
});

test("what would be kept beyond the quota ends its call, and says so", async (t) => {
  const clock = new Clock();
  const at = await staged(t, { env: { MOST_KEPT_BYTES: "100000" }, clock });
  const raw = new Raw(at.url);
  await raw.initialize();
  const ask = async (id, size) => (await blocks(await raw.post(call(id, "large", { size })))).at(-1).data;
  assert.ok((await ask(1, 60_000)).result);
  const { error } = await ask(2, 60_000);
  const told = error.data["io.landfall/failure"];
  assert.deepEqual([told.reason, told.outcome], ["message_too_large", "unknown"]);
  assert.ok((await ask(3, 10_000)).result, "the session goes on");
  await clock.pass(61_000);
  await until(() => /buffered_bytes 0\n/.test(at.relay.register.metrics()), "room");
  assert.ok((await ask(4, 60_000)).result);
});

test("what the sessions of a caller keep counts together", async (t) => {
  const at = await staged(t, { env: { MOST_KEPT_BYTES: "100000" } });
  const [one, two] = [new Raw(at.url), new Raw(at.url)];
  await Promise.all([one.initialize(), two.initialize()]);
  const ask = async (raw, id, size) =>
    (await blocks(await raw.post(call(id, "large", { size })))).at(-1).data;
  assert.ok((await ask(one, 1, 60_000)).result);
  assert.equal((await ask(two, 1, 60_000)).error.data["io.landfall/failure"].reason, "message_too_large");
  assert.ok((await ask(two, 2, 20_000)).result);
});

test("numbers are behind the secret, and tell what happened", async (t) => {
  const at = await staged(t, { env: { PUBLIC: "", SECRET: "s" } });
  const headers = { authorization: "Bearer s" };
  const raw = new Raw(at.url, headers);
  await raw.initialize();
  const read = await blocks(await raw.post(call(1, "count", { key: "m" })));
  await blocks(await raw.get(read[0].id));
  await raw.get("000000-9/9");
  await blocks(await raw.post(call(2, "count", { key: "n" })));
  const metrics = (given) => fetch(new URL("/metrics", at.url), { headers: given });
  assert.equal((await metrics({})).status, 401);
  const text = await (await metrics(headers)).text();
  for (const line of [
    'landfall_relay_resumes_total{kind="cursor",result="attached"} 1',
    'landfall_relay_resumes_total{kind="cursor",result="refused"} 1',
    "landfall_relay_tool_seconds_count 2",
    "landfall_relay_drops_per_minute 0",
    "landfall_relay_exhausted_retries_total 0",
    "landfall_relay_sessions 1",
  ])
    assert.ok(text.includes(`\n${line}\n`), `${line}\n${text}`);
  assert.match(text, /landfall_relay_connection_seconds\{quantile="0\.99"\} [\d.e-]+\n/);
});

test("a request without an id is no way to call a tool", async (t) => {
  const at = await staged(t);
  const raw = new Raw(at.url);
  await raw.initialize();
  const params = { name: "slow", arguments: {} };
  assert.equal((await raw.post({ jsonrpc: "2.0", method: "tools/call", params })).status, 202);
  assert.equal((await raw.post({ jsonrpc: "2.0", method: "notifications/roots/list_changed" })).status, 202);
  const methods = () => at.upstream.log.map(({ body }) => body?.method ?? JSON.parse(body || "{}").method);
  await until(() => methods().includes("notifications/roots/list_changed"));
  assert.ok(!methods().includes("tools/call"));
});

test("who is refused with a long body is heard when he comes again", async (t) => {
  const at = await staged(t, { env: { PUBLIC: "", SECRET: "s3cret" } });
  const post = (authorization) =>
    fetch(at.url, {
      method: "POST",
      headers: { "content-type": "application/json", authorization },
      body: JSON.stringify({ ...ping, params: { text: "x".repeat(300_000) } }),
      signal: AbortSignal.timeout(10_000),
    }).then(
      ({ status }) => status,
      ({ name }) => name,
    );
  for (let n = 0; n < 3; n += 1) assert.notEqual(await post("Bearer no"), "TimeoutError");
  assert.equal(await post("Bearer s3cret"), 400, "it names no session");
});
