// The Worker of www/edge as it stands, with the packed package, in workerd.
import assert from "node:assert/strict";
import { cp, readdir } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { node22 } from "../../www/build/node24.mjs";
import { startMiniflare, startWrangler, workerBundle } from "./cases.mjs";
import { installedFile, run } from "./tools.mjs";
import { workshop } from "./workshop.mjs";

const EDGE = fileURLToPath(new URL("../../www/edge", import.meta.url));
const shop = workshop();

const vars = (more) => ({
  ...{ MCP_URL: shop.server.url, TOOLS: "scripted, scripted_read", ALLOW_ORIGIN: "https://page.test" },
  ...{ PUBLIC: "1", DEADLINE_MS: "60000", KEEP_MS: "60000", ...more },
});

async function project() {
  const folder = await shop.package.project();
  await cp(EDGE, folder, { recursive: true });
  return folder;
}

const SERVERS = {
  async Miniflare(more, folder) {
    const home = folder ?? (await project());
    if (folder === undefined)
      await run([...workerBundle("worker.mjs", "out"), "--external:cloudflare:workers"], home);
    const durableObjects = { CALLS: { className: "Call", useSQLite: true } };
    const options = { durableObjects, durableObjectsPersist: join(home, "objects"), bindings: vars(more) };
    return { folder: home, ...(await startMiniflare(join(home, "out"), "worker.js", options)) };
  },
  async "wrangler dev"(more) {
    const given = Object.entries(vars(more)).flatMap(([name, value]) => ["--var", `${name}:${value}`]);
    return startWrangler(await project(), ["--config", "wrangler.toml", ...given]);
  },
};

/** A call by POST: `{ path, response }`. */
async function post(worker, call) {
  const body = typeof call === "string" ? call : JSON.stringify(call);
  const response = await fetch(`${worker.url}/calls`, {
    method: "POST",
    body,
    signal: AbortSignal.timeout(60_000),
  });
  return { response, path: response.headers.get("location") };
}

const scripted = (key, steps) => ({ name: "scripted", arguments: { key, steps } });

function follow(worker, path, after) {
  const headers = after === undefined ? {} : { "last-event-id": String(after) };
  return fetch(worker.url + path, { headers, signal: AbortSignal.timeout(60_000) });
}

/** The events of a stream until it ends, or until one is what is waited for. */
async function read(response, until = () => false) {
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  const events = [];
  let text = "";
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (text + chunk).split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const [, id, data] = /^id: (\d+)\ndata: (.*)$/.exec(block) ?? [];
      if (id === undefined) continue;
      events.push({ id: Number(id), ...JSON.parse(data) });
      if (until(events.at(-1))) return events;
    }
  }
  assert.equal(text, "", "the last event is whole");
  return events;
}

const said = (events) => events.map(({ type, message }) => message?.params?.data ?? type);
const isSaid = (text) => (event) => event.message?.params?.data === text;

for (const [name, start] of Object.entries(SERVERS)) {
  const skip = name === "Miniflare" || node22() ? undefined : "no Node 22";
  describe(`the agent endpoint by ${name}`, { skip }, () => {
    const edge = { name: (key) => `${name} ${key}` };
    before(async () => {
      edge.worker = await start();
    });
    after(() => edge.worker?.stop());
    test("streams a call that is cut, with ids, and closes after its outcome", () => streams(edge));
    test("replays what a page missed, to as many as ask, and runs the tool once", () => replays(edge));
    test("cancels a call, and ends what the server does for it", () => cancels(edge));
    test("refuses what it should not do, before anything is sent", () => refuses(edge));
  });
}

test("the agent endpoint ends a call that hangs within its limit", async (t) => {
  const worker = await SERVERS.Miniflare({ DEADLINE_MS: "1000" });
  t.after(() => worker.stop());
  const { response } = await post(worker, scripted("hangs", [{ message: "one" }, { wait: 60_000 }]));
  const { type, reason } = (await read(response)).at(-1);
  assert.equal(type, "tool_call_failed");
  // Which clock it is depends on what follows from the limit.
  assert.match(reason, /^(?:call_timeout|recovery_exhausted|deadline_exceeded)$/);
});

test("the agent endpoint goes on after a restart by state and cursor, and the tool runs once", async (t) => {
  const first = await SERVERS.Miniflare();
  const isRead = [{ message: "one" }, { ask: { method: "ping" } }];
  const rest = [{ cut: "rst" }, { awaitResume: true }, { message: "two" }];
  // The first life of the object is over before it would come back.
  const steps = [{ retry: 8_000 }, ...isRead, ...rest];
  const { response, path } = await post(first, scripted("restarted", steps));
  const seen = await read(response, ({ type }) => type === "reconnecting");
  await first.stop();
  const second = await SERVERS.Miniflare({}, first.folder);
  t.after(() => second.stop());
  const events = await read(await follow(second, path, seen.at(-1).id));
  assert.equal(events[0].id, seen.at(-1).id + 1);
  const news = said(events).filter((each) => each === "one" || each === "two");
  assert.deepEqual([...news, said(events).at(-1)], ["two", "result"]);
  assert.equal(shop.server.executions("restarted"), 1);
  const requests = shop.server.log.filter(({ key }) => key === "restarted");
  assert.deepEqual(
    requests.map(({ method }) => method),
    ["POST", "GET"],
  );
  assert.equal(requests[0].session, requests[1].session);
});

test("the agent endpoint says that it does not know what became of a call that can't be resumed after a restart", async (t) => {
  const first = await SERVERS.Miniflare();
  const steps = [{ noIds: true }, { message: "one" }, { wait: 60_000 }];
  const { response, path } = await post(first, scripted("interrupted", steps));
  const seen = await read(response, isSaid("one"));
  await first.stop();
  const second = await SERVERS.Miniflare({}, first.folder);
  t.after(() => second.stop());
  const [outcome, ...more] = await read(await follow(second, path, seen.at(-1).id));
  assert.deepEqual(
    [outcome.type, outcome.reason, outcome.outcome],
    ["tool_call_failed", "interrupted", "unknown"],
  );
  assert.deepEqual(more, []);
  assert.equal(shop.server.executions("interrupted"), 1);
});

test("the agent endpoint keeps the last 500 events, and says how many are gone", async (t) => {
  const worker = await SERVERS.Miniflare();
  t.after(() => worker.stop());
  const steps = Array.from({ length: 520 }, (_, n) => ({ message: `${n}` }));
  const { response, path } = await post(worker, scripted("many", steps));
  const all = await read(response);
  assert.equal(said(all).filter((each) => /^\d+$/.test(each)).length, 520, "who follows it misses none");
  const text = await (await follow(worker, path)).text();
  const [, first] = text.split("\n\n");
  assert.match(first, new RegExp(`^data: .*${all.length - 500} earlier events are not kept`));
  assert.equal(text.match(/^id: /gm).length, 500);
});

test("the agent endpoint is what wrangler would deploy", {
  skip: node22() ? undefined : "no Node 22",
}, async () => {
  const deploy = [
    node22(),
    installedFile("wrangler/bin/wrangler.js"),
    "deploy",
    "--dry-run",
    "--outdir",
    "built",
  ];
  const folder = await project();
  const told = await run(deploy, folder);
  assert.match(told, /CALLS \(Call\)/);
  const built = await readdir(join(folder, "built"));
  assert.ok(built.includes("worker.js") && built.some((file) => file.endsWith(".wasm")), built.join());
});

test("the agent endpoint forgets a call some time after its outcome", async (t) => {
  const worker = await SERVERS.Miniflare({ KEEP_MS: "100" });
  t.after(() => worker.stop());
  const { response, path } = await post(worker, scripted("forgotten", []));
  await read(response);
  let status = 0;
  for (const end = Date.now() + 20_000; status !== 404 && Date.now() < end; )
    ({ status } = await follow(worker, path, 0));
  assert.equal(status, 404);
});

async function streams({ worker, name }) {
  const key = name("streamed");
  const steps = [{ retry: 20 }, { message: "one" }, { ask: { method: "ping" } }, { cut: "rst" }];
  const call = scripted(key, [...steps, { awaitResume: true }, { message: "two" }]);
  const { response } = await post(worker, call);
  assert.equal(response.headers.get("access-control-allow-origin"), "https://page.test");
  const events = await read(response);
  assert.deepEqual(
    events.map(({ id }) => id),
    events.map((_, n) => n + 1),
  );
  const { execution } = events.at(-1).result.structuredContent;
  shop.assertCarried(key, { events: said(events), execution });
}

async function replays({ worker, name }) {
  const key = name("replayed");
  const steps = [{ message: "one" }, { wait: 400 }, { message: "two" }, { wait: 400 }, { message: "three" }];
  const { response, path } = await post(worker, scripted(key, steps));
  const seen = await read(response, isSaid("one"));
  const [rest, all] = await Promise.all([
    follow(worker, path, seen.at(-1).id).then(read),
    follow(worker, path).then(read),
  ]);
  assert.deepEqual([...seen, ...rest], all);
  assert.deepEqual(said(all).slice(-4), ["one", "two", "three", "result"]);
  assert.equal((await follow(worker, path, all.at(-1).id)).status, 204, "there will be no more");
  assert.deepEqual(await read(await follow(worker, path)), all, "also when it is over");
  assert.equal(shop.server.executions(key), 1);
}

async function cancels({ worker, name }) {
  const key = name("cancelled");
  const { response, path } = await post(worker, scripted(key, [{ message: "one" }, { wait: 60_000 }]));
  const seen = await read(response, isSaid("one"));
  assert.equal((await fetch(worker.url + path, { method: "DELETE" })).status, 202);
  const outcome = (await read(await follow(worker, path, seen.at(-1).id))).at(-1);
  assert.deepEqual([outcome.type, outcome.reason], ["tool_call_failed", "cancelled"]);
  const { session } = shop.server.log.find((line) => line.key === key);
  const isEnd = (line) => line.session === session && line.method === "DELETE";
  for (const end = Date.now() + 10_000; !shop.server.log.some(isEnd) && Date.now() < end; ) await sleep(10);
  assert.ok(shop.server.log.some(isEnd), "its session was ended, and with it the tool");
}

async function refuses({ worker }) {
  const sent = shop.server.log.length;
  const posts = [
    [400, "{"],
    [400, "[]"],
    [400, { name: "scripted", arguments: [] }],
    [403, { name: "process_batch" }],
    [413, { name: "scripted", arguments: { key: "x".repeat(300_000) } }],
  ];
  for (const [status, call] of posts) assert.equal((await post(worker, call)).response.status, status);
  const others = [
    [404, "/", "GET"],
    [404, "/calls/0123", "GET"],
    [404, `/calls/${"0".repeat(64)}`, "GET"],
    [405, "/calls", "GET"],
    [405, "/calls/0123", "PUT"],
    [204, "/calls", "OPTIONS"],
  ];
  for (const [status, path, method] of others)
    assert.equal((await fetch(worker.url + path, { method })).status, status, `${method} ${path}`);
  assert.equal(shop.server.log.length, sent);
}
