// What is asked of the runtime: its clock, its kind, its bounds.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  createClock,
  isBrowser,
  isCrossOrigin,
  mostConcurrent,
  randomSeed,
} from "../../target/modules/base/runtime.js";
import { connectBy, emptyModule, FakeCore, noFetch } from "./support/fake-core.mjs";
import "./support/timers.mjs";

/** As in a renderer of Electron: a browser that has `process`. */
function inBrowser(t) {
  process.type = "renderer";
  t.after(() => {
    delete process.type;
  });
}

test("the clock counts whole epoch milliseconds and never goes back, whatever the wall clock does", (t) => {
  const clock = createClock();
  const first = clock();
  assert.ok(Math.abs(first - Date.now()) < 1_000);
  t.mock.method(Date, "now", () => 0);
  assert.ok(clock() >= first);
  let elapsed = 100;
  t.mock.method(performance, "now", () => elapsed);
  const other = createClock();
  const start = other();
  elapsed = 90;
  assert.equal(other(), start);
  elapsed = 150.5;
  assert.equal(other(), start + 50);
  elapsed = 151;
  assert.equal(other(), start + 51);
});

test("a seed has 53 random bits", (t) => {
  const seeds = Array.from({ length: 200 }, randomSeed);
  assert.ok(seeds.every((seed) => Number.isSafeInteger(seed) && seed >= 0));
  assert.equal(new Set(seeds).size, 200);
  assert.ok(seeds.some((seed) => seed > 2 ** 51));
  t.mock.method(crypto, "getRandomValues", (words) => words.fill(2 ** 32 - 1));
  assert.equal(randomSeed(), 2 ** 53 - 1);
});

test("Node is no browser, a renderer is", (t) => {
  assert.equal(isBrowser(), false);
  inBrowser(t);
  assert.equal(isBrowser(), true);
  Object.defineProperty(process, "type", { value: "worker", configurable: true });
  assert.equal(isBrowser(), true, "a worker of Electron's");
  // Deno and Bun have what pages have, too.
  for (const name of ["Deno", "Bun"]) {
    globalThis[name] = {};
    assert.equal(isBrowser(), false, name);
    delete globalThis[name];
  }
});

test("in workerd few requests may wait for headers, and bodies are not counted", async (t) => {
  const opened = async (options) => {
    const core = new FakeCore();
    core.on.connect = () => core.ready();
    const connect = connectBy(
      () => emptyModule,
      () => core.exports,
    );
    await connect("https://server.test/mcp", { fetch: noFetch, ...options });
    const { maxConcurrent, untilHeaders } = core.config;
    return { maxConcurrent, untilHeaders };
  };
  assert.deepEqual(await opened(), { maxConcurrent: undefined, untilHeaders: undefined });
  const { navigator } = globalThis;
  const be = (value) => Object.defineProperty(globalThis, "navigator", { value, configurable: true });
  t.after(() => be(navigator));
  be({ userAgent: "Cloudflare-Workers" });
  assert.deepEqual(await opened(), { maxConcurrent: 5, untilHeaders: true });
  assert.deepEqual(await opened({ limits: { maxConcurrent: 3 } }), { maxConcurrent: 3, untilHeaders: true });
});

test("in a browser few bodies may be open to a server that speaks HTTP/1.1", (t) => {
  assert.equal(mostConcurrent("http://server.test/mcp"), undefined);
  inBrowser(t);
  assert.equal(mostConcurrent("http://server.test/mcp"), 5);
  assert.equal(mostConcurrent("https://server.test/mcp"), undefined);
  const entries = [
    { name: "https://old.test/app.js", nextHopProtocol: "http/1.1" },
    { name: "https://new.test/app.js", nextHopProtocol: "h2" },
    { name: "https://new.test.other/app.js", nextHopProtocol: "http/1.1" },
  ];
  t.mock.method(performance, "getEntriesByType", () => entries);
  assert.equal(mostConcurrent("https://old.test/mcp"), 5);
  assert.equal(mostConcurrent("https://new.test/mcp"), undefined);
});

test("in a browser sessions share instances beyond the 24th, the least used first", async (t) => {
  inBrowser(t);
  const cores = [];
  const connect = connectBy(
    () => emptyModule,
    () => {
      const core = new FakeCore();
      let handles = 0;
      core.on.create = (host, config) => {
        Object.assign(core, { host, config });
        handles += 1;
        return handles;
      };
      core.on.connect = () => core.ready();
      cores.push(core);
      return core.exports;
    },
  );
  const sessions = [];
  const open = async () => sessions.push(await connect("https://server.test/mcp", { fetch: noFetch }));
  for (let i = 0; i < 26; i += 1) await open();
  assert.equal(cores.length, 24);
  const seats = () => cores.map((core) => core.called("create").length - core.called("destroy").length);
  assert.deepEqual([...new Set(seats())].sort(), [1, 2]);
  assert.equal(seats().filter((used) => used === 2).length, 2);
  await sessions[5].close();
  await open();
  assert.equal(cores.length, 25, "an instance without sessions is no longer counted");
  await Promise.all(sessions.map((session) => session.close()));
});

test("only a page knows another origin", (t) => {
  assert.equal(isCrossOrigin("https://api.example/mcp"), false);
  inBrowser(t);
  globalThis.location = { href: "https://app.example/page" };
  t.after(() => {
    delete globalThis.location;
  });
  assert.equal(isCrossOrigin("https://api.example/mcp"), true);
  assert.equal(isCrossOrigin("https://app.example/mcp"), false);
});
