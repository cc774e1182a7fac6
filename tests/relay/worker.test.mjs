// The relay as a Worker, in wrangler's workerd: the same, and what eviction makes of it.
import assert from "node:assert/strict";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { node22 } from "../../www/build/node24.mjs";
import { InMemoryEventStore } from "../migration/event-store.mjs";
import { installedFile, run } from "../packaging/tools.mjs";
import { Blocks, blocks, call, landfall, Raw, until } from "./stage.mjs";
import { startUpstream } from "./upstream.mjs";
import { folder, startWorker } from "./workerd.mjs";

const skip = node22() ? undefined : "no Node 22";
const SECRET = "the secret";
const headers = { authorization: `Bearer ${SECRET}` };
const textOf = (read) => read.at(-1).data.result?.content[0].text;
const failureOf = (read) => read.at(-1).data.error?.data["io.landfall/failure"];

// What ends an object in mid-call as the platform does.
const ABORTING = `
import worker, { RelayRegister, RelaySession as Session } from "./worker.mjs";
export { RelayRegister };
export class RelaySession extends Session {
  fetch(request) {
    if (new URL(request.url).pathname === "/abort") this.ctx.abort("for a test");
    return super.fetch(request);
  }
}
export default {
  fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname !== "/abort") return worker.fetch(request, env);
    const object = env.SESSIONS.get(env.SESSIONS.idFromName(searchParams.get("id")));
    return object.fetch("https://session/abort").catch((thrown) => new Response(String(thrown)));
  },
};
`;

/** A Worker before a server, which may be ended and started again: `{ url, upstream, restart(), close() }`. */
async function staged(server, vars) {
  const [upstream, place] = await Promise.all([startUpstream(server), folder()]);
  await writeFile(join(place.home, "aborting.mjs"), ABORTING);
  const set = { UPSTREAM: upstream.url, SECRET, TOOLS: "*", ORIGINS: "https://page.test", ...vars };
  const at = { upstream };
  const start = async () => {
    at.worker = await startWorker(place.home, set, "aborting.mjs");
    at.url = at.worker.url;
  };
  await start();
  at.restart = async () => {
    await at.worker.stop();
    await start();
  };
  at.abort = (id) => fetch(new URL(`/abort?id=${id}`, at.url)).then((response) => response.text());
  at.close = async () => {
    await at.worker.stop();
    await Promise.all([upstream.close(), place.remove()]);
  };
  return at;
}

async function client(at, options) {
  const raw = new Raw(at.url, headers);
  await raw.initialize(options);
  return raw;
}

/** The same session, wherever the Worker is now. */
const again = (at, { session }) => new Raw(at.url, { ...headers, "mcp-session-id": session });

let at;
before(async () => {
  if (skip === undefined) at = await staged({});
});
after(() => at?.close());

test("a Worker carries the calls of an official Client and of landfall's", { skip }, async () => {
  const official = new Client({ name: "client", version: "1" });
  await official.connect(new StreamableHTTPClientTransport(new URL(at.url), { requestInit: { headers } }));
  const answer = await official.callTool({ name: "count", arguments: { key: "official" } });
  assert.equal(answer.content[0].text, "run 1");
  await official.close();
  const session = await landfall.connect(at.url, { headers, relay: true });
  assert.equal((await session.callTool("count", { key: "landfall" })).content[0].text, "run 1");
  await session.close();
});

test("a Worker keeps what a client missed that went away in mid-call", { skip }, async () => {
  const raw = await client(at);
  const gone = new AbortController();
  const open = await raw.post(call(1, "hold", { key: "away", steps: 2 }, { progressToken: "p" }), {
    signal: gone.signal,
  });
  const { id } = await new Blocks(open).next();
  await until(() => at.upstream.runs("away") === 1, "the run");
  gone.abort();
  at.upstream.release("away");
  const read = await blocks(await raw.get(id));
  assert.equal(textOf(read), "held away");
  const told = read.filter(({ data }) => data?.method === "notifications/progress");
  assert.deepEqual(
    told.map(({ data }) => data.params.progress),
    [1, 2],
  );
  assert.equal(at.upstream.runs("away"), 1);
});

test("a Worker runs ten slow calls of one session at once", { skip }, async () => {
  const raw = await client(at);
  const keys = Array.from({ length: 10 }, (_, n) => `slow ${n}`);
  const open = await Promise.all(keys.map((key, n) => raw.post(call(n, "hold", { key }))));
  await until(() => keys.every((key) => at.upstream.runs(key) === 1), "ten runs");
  for (const key of keys) at.upstream.release(key);
  const read = await Promise.all(open.map((each) => blocks(each)));
  assert.deepEqual(
    read.map(textOf),
    keys.map((key) => `held ${key}`),
  );
});

test("a Worker keeps a result of many rows", { skip }, async () => {
  const raw = await client(at);
  const read = await blocks(await raw.post(call(1, "large", { size: 1_200_001 })));
  assert.equal(textOf(read), "é".repeat(1_200_001));
  assert.equal(textOf(await blocks(await raw.get(read[0].id))), "é".repeat(1_200_001));
});

test("a Worker has its doors, and its numbers behind the secret", { skip }, async () => {
  assert.equal((await new Raw(at.url).post(call(1, "count"))).status, 401);
  assert.equal(
    (await new Raw(at.url, { ...headers, origin: "https://evil.test" }).post(call(1, "count"))).status,
    403,
  );
  const unknown = new Raw(at.url, { ...headers, "mcp-session-id": "0".repeat(32) });
  assert.equal((await unknown.post(call(1, "count"))).status, 404);
  const metrics = await (await fetch(new URL("/metrics", at.url), { headers })).text();
  assert.match(metrics, /landfall_relay_tool_seconds_count [1-9]/);
  assert.match(metrics, /landfall_relay_mismatched_sessions_total 1\n/);
});

test("a Worker ends a session by DELETE, here and at the server", { skip }, async () => {
  const raw = await client(at);
  const { size } = at.upstream.sessions;
  assert.equal((await raw.delete()).status, 204);
  assert.equal(at.upstream.sessions.size, size - 1);
  assert.equal((await raw.post(call(1, "count", { key: "x" }))).status, 404);
});

const ways = {
  "by ctx.abort()": (at, { session }) => at.abort(session),
  "by the end of workerd": (at) => at.restart(),
};
for (const [way, evict] of Object.entries(ways))
  describe(`a session whose object is evicted in mid-call ${way}`, { skip }, () => {
    test("goes on, where the server keeps events, and nothing runs twice", (t) => goesOn(t, evict));
    test("asks nobody twice, and takes the answer to what it asked before", (t) => asksNobodyTwice(t, evict));
    test("is cancelled under the id that the server knows", (t) => isCancelled(t, evict));
    test("says that nobody knows what became of a call that the server kept nothing of", (t) =>
      saysThatNobodyKnows(t, evict));
  });

async function goesOn(t, evict) {
  const at = await staged({ eventStore: () => new InMemoryEventStore() });
  t.after(() => at.close());
  const raw = await client(at);
  const reader = new Blocks(
    await raw.post(call("k", "hold", { key: "kept", steps: 2 }, { progressToken: 9 })),
  );
  const { id } = await reader.message();
  await evict(at, raw);
  const rest = (async () => {
    while ((await reader.next()) !== undefined);
  })();
  await rest.catch(() => {});
  const back = again(at, raw);
  const resumed = await back.get(id);
  assert.equal(resumed.status, 200);
  const isResume = ({ method, headers: sent }) => method === "GET" && sent["last-event-id"] !== undefined;
  await until(() => at.upstream.log.some(isResume), "the resume upstream");
  at.upstream.release("kept");
  const read = await blocks(resumed);
  assert.equal(textOf(read), "held kept");
  assert.equal(read.at(-1).data.id, "k");
  const told = read.filter(({ data }) => data?.method === "notifications/progress");
  assert.deepEqual(
    told.map(({ data }) => data.params),
    [1, 2].map((progress) => ({ progressToken: 9, progress, total: 2 })),
  );
  assert.equal(at.upstream.runs("kept"), 1);
  assert.equal(textOf(await blocks(await back.post(call("n", "count", { key: "next" })))), "run 1");
}

async function asksNobodyTwice(t, evict) {
  const at = await staged({ eventStore: () => new InMemoryEventStore() });
  t.after(() => at.close());
  const raw = await client(at, { capabilities: { elicitation: { form: {} } } });
  const reader = new Blocks(await raw.post(call(1, "ask", { key: "asked" })));
  const { id, data: question } = await reader.message();
  await evict(at, raw);
  const back = again(at, raw);
  const resumed = await back.get(id);
  const result = { action: "accept", content: { name: "Ann" } };
  assert.equal((await back.post({ jsonrpc: "2.0", id: question.id, result })).status, 202);
  const read = await blocks(resumed);
  assert.deepEqual(JSON.parse(textOf(read)), result);
  assert.deepEqual(
    read.filter(({ data }) => data?.method),
    [],
    "it was asked once",
  );
  assert.equal(at.upstream.runs("asked"), 1);
}

async function isCancelled(t, evict) {
  const at = await staged({ eventStore: () => new InMemoryEventStore() });
  t.after(() => at.close());
  const raw = await client(at);
  const reader = new Blocks(await raw.post(call("c", "hold", { key: "unwanted" })));
  const { id } = await reader.message();
  await evict(at, raw);
  const back = again(at, raw);
  const resumed = await back.get(id);
  const cancel = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "c" } };
  assert.equal((await back.post(cancel)).status, 202);
  await until(() => at.upstream.cancelled.has("unwanted"), "the cancel");
  assert.deepEqual(
    (await blocks(resumed)).filter(({ data }) => data),
    [],
  );
}

async function saysThatNobodyKnows(t, evict) {
  const at = await staged({});
  t.after(() => at.close());
  const raw = await client(at);
  const reader = new Blocks(await raw.post(call(1, "hold", { key: "lost" })));
  const { id } = await reader.message();
  await evict(at, raw);
  const back = again(at, raw);
  const read = await blocks(await back.get(id));
  const told = failureOf(read);
  assert.deepEqual([told.reason, told.outcome], ["interrupted", "unknown"]);
  assert.equal(at.upstream.runs("lost"), 1);
  // A repeat is answered the same, and runs nothing.
  assert.deepEqual(failureOf(await blocks(await back.post(call(1, "hold", { key: "lost" })))), told);
  assert.equal(at.upstream.runs("lost"), 1);
  assert.equal(textOf(await blocks(await back.post(call(2, "count", { key: "next" })))), "run 1");
}

test("the Worker is what wrangler would deploy", { skip }, async (t) => {
  const place = await folder();
  t.after(place.remove);
  const wrangler = installedFile("wrangler/bin/wrangler.js");
  const told = await run([node22(), wrangler, "deploy", "--dry-run", "--outdir", "built"], place.home);
  assert.match(told, /SESSIONS \(RelaySession\)/);
  const built = await readdir(join(place.home, "built"));
  assert.ok(built.includes("worker.js") && built.some((file) => file.endsWith(".wasm")), built.join());
});

test("a Worker without a secret answers nobody", { skip }, async (t) => {
  const at = await staged({}, { SECRET: "" });
  t.after(() => at.close());
  const response = await new Raw(at.url, headers).post(call(1, "count"));
  assert.equal(response.status, 503);
  assert.match((await response.json()).error, /no SECRET/);
});
