// The relay as a process: what it says, and what outlives it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { node22 } from "../../www/build/node24.mjs";
import { InMemoryEventStore } from "../migration/event-store.mjs";
import { Blocks, blocks, call, Raw, until } from "./stage.mjs";
import { startUpstream } from "./upstream.mjs";
import { folder } from "./workerd.mjs";

let place;
before(async () => {
  place = await folder();
});
after(() => place.remove());

/** A relay: `{ url, kill() }`; or, where it ended at once, `{ code, told }`. */
async function start(t, env, program = process.execPath) {
  const child = spawn(program, ["node.mjs"], { cwd: place.home, env });
  let told = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk) => {
      told += chunk;
    });
  const ended = new Promise((resolve) => child.once("exit", (code) => resolve(code)));
  const kill = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  t.after(kill);
  const code = await Promise.race([
    ended,
    until(() => /http:\S+/.test(told), "an address").then(() => undefined),
  ]);
  return code === undefined ? { url: /http:\S+/.exec(told)[0], kill } : { code, told };
}

test("a process without a secret does not start, and says why", async (t) => {
  const { code, told } = await start(t, { UPSTREAM: "http://127.0.0.1:1/mcp" });
  assert.equal(code, 1);
  assert.match(told, /no SECRET/);
});

test("a process prints its address, which is on this machine, and relays", async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const { url } = await start(t, { UPSTREAM: upstream.url, PUBLIC: "1", TOOLS: "*" });
  assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/mcp$/);
  const raw = new Raw(url, { origin: "http://localhost:5173" });
  await raw.initialize();
  const read = await blocks(await raw.post(call(1, "count", { key: "p" })));
  assert.equal(read.at(-1).data.result.content[0].text, "run 1");
  assert.equal((await new Raw(url, { origin: "https://evil.test" }).post(call(1, "count"))).status, 403);
});

test("sessions that are kept in a folder outlive their process: a call with a cursor goes on, any other is interrupted", {
  skip: node22() ? undefined : "no Node 22",
}, async (t) => {
  const upstream = await startUpstream({ eventStore: () => new InMemoryEventStore() });
  const plain = await startUpstream();
  t.after(() => Promise.all([upstream.close(), plain.close()]));
  for (const [server, outcome] of [
    [upstream, "held kept"],
    [plain, "interrupted"],
  ]) {
    const data = join(place.home, `data of ${outcome}`);
    const env = { UPSTREAM: server.url, PUBLIC: "1", TOOLS: "*", DATA: data };
    const first = await start(t, env, node22());
    const raw = new Raw(first.url);
    await raw.initialize();
    const reader = new Blocks(await raw.post(call("k", "hold", { key: "kept" })));
    const { id } = await reader.message();
    await first.kill();
    const second = await start(t, env, node22());
    const back = new Raw(second.url, { "mcp-session-id": raw.session });
    const resumed = await back.get(id);
    const isResume = ({ method, headers }) => method === "GET" && headers["last-event-id"] !== undefined;
    if (server === upstream) await until(() => server.log.some(isResume), "the resume upstream");
    server.release("kept");
    const { data: last } = (await blocks(resumed)).at(-1);
    const told = last.result?.content[0].text ?? last.error.data["io.landfall/failure"].reason;
    assert.deepEqual([last.id, told], ["k", outcome]);
    assert.equal(server.runs("kept"), 1);
    await back.delete();
    assert.deepEqual(await readdir(data), [], "what ended is gone");
  }
});
