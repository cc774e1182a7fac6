// A browser opens six connections to a host over HTTP/1.1, and lets GETs of one address wait for each other: what that
// leaves of many calls at once, as the server sees it.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { workshop } from "./browser.mjs";
import { createSecureSite, NO_TLS } from "./secure.mjs";
import { GECKODRIVER, launchFirefox } from "./webdriver.mjs";

const shop = workshop();

const keysOf = (name, count) => Array.from({ length: count }, (_, n) => `${name} ${n}`);
const begin = (page, calls) => page.evaluate((given) => globalThis.beginCalls(given), calls);
const ping = (page) => page.evaluate(() => globalThis.ping());
const end = (page) => page.evaluate(() => globalThis.endCalls());

/** Each call's first message has reached the page, and it stays open for so long. */
const held = (ms) => [{ message: "open" }, { wait: ms }];

/** The requests of these calls. */
const requests = (log, method, keys) =>
  log.filter((line) => line.method === method && keys.includes(line.key));

/** The server hears of a body that the browser has done with later than of the request that takes its place. */
const LAG_MS = 250;

/** How many of these requests were open at once at most. */
function mostOpen(lines) {
  const openAt = ({ at }) => lines.filter((line) => line.at <= at && !(line.closedAt <= at + LAG_MS)).length;
  return Math.max(...lines.map(openAt));
}

async function until(what, holds) {
  for (const stop = Date.now() + 20_000; Date.now() < stop; await sleep(10)) if (holds()) return;
  assert.fail(`waited 20 s until ${what}`);
}

/**
 * Eight calls at once: four are sent, and in what is left the server's questions are answered, without which no call
 * ends. The rest is not sent, a ping of the page's neither, for it would wait in the browser.
 */
async function assertFourOfEight(page, { log, url }, name) {
  const keys = keysOf(name, 8);
  const before = log.length;
  const steps = [{ message: "open" }, { wait: 500 }, { ask: { method: "ping" } }, { wait: 500 }];
  await begin(page, { url, keys, steps });
  assert.deepEqual(await ping(page), {});
  assert.deepEqual(await end(page), Array(8).fill(1));
  const posts = requests(log, "POST", keys);
  assert.equal(posts.length, 8);
  assert.equal(mostOpen(posts), 4);
  const pings = log.slice(before).filter(({ rpc }) => rpc === "ping");
  assert.equal(pings.length, 1);
  assert.ok(
    pings[0].at >= Math.min(...posts.map(({ closedAt }) => closedAt)),
    "the ping was sent when a call ended",
  );
}

function connectionsIn(browser, open) {
  test("five calls that are cut at once are resumed side by side", async (t) => {
    const { page } = await open(t, shop.site.page());
    const keys = keysOf(`${browser} resumed`, 5);
    // After its answer to the ping a call is cut; the resumed stream stays open for two seconds.
    const steps = [{ retry: 20 }, { message: "open" }, { ask: { method: "ping" } }, { wait: 300 }];
    steps.push({ cut: "rst" }, { awaitResume: true }, ...held(2_000));
    await begin(page, { url: shop.server.url, keys, steps, options: { limits: { maxConcurrent: 6 } } });
    assert.deepEqual(await end(page), [1, 1, 1, 1, 1]);
    const resumes = requests(shop.server.log, "GET", keys);
    assert.equal(resumes.length, 5);
    assert.equal(mostOpen(resumes), 5);
  });

  test("over HTTP/1.1 four of eight calls are sent, and the server's questions are answered meanwhile", async (t) => {
    const { page } = await open(t, shop.site.page());
    await assertFourOfEight(page, shop.server, `${browser} eight`);
  });

  for (const http2 of [true, false]) {
    describe(http2 ? "over HTTP/2" : "over HTTPS with HTTP/1.1", { skip: NO_TLS }, () => {
      let site;
      before(async () => {
        site = await createSecureSite({ http2 });
      });
      after(() => site?.close());

      if (http2) overHttp2(browser, open, () => site);
      else {
        test("the limit is that of HTTP/1.1, for the page's own files came so", async (t) => {
          const { page } = await open(t, site.origin);
          await assertFourOfEight(page, site, "eight");
        });
      }
    });
  }
}

function overHttp2(browser, open, site) {
  test("twelve calls are open at once on one connection, and all go on after it is cut", async (t) => {
    const { log, url, origin, connections, cut } = site();
    const { page } = await open(t, origin);
    const keys = keysOf(browser, 12);
    const steps = [{ retry: 20 }, ...held(1_500), { awaitResume: true }, ...held(2_000)];
    await begin(page, { url, keys, steps });
    await until("all are sent", () => requests(log, "POST", keys).length === 12);
    assert.deepEqual(await ping(page), {});
    const posts = requests(log, "POST", keys);
    assert.equal(mostOpen(posts), 12);
    assert.ok(posts.every(({ closedAt }) => closedAt === undefined));
    assert.equal(connections(), 1);
    cut();
    assert.deepEqual(await end(page), Array(12).fill(1));
    assert.equal(mostOpen(requests(log, "GET", keys)), 12);
    assert.equal(connections(), 2);
  });
}

describe("in Chromium", () => connectionsIn("Chromium", shop.openAt));

describe("in Firefox", { skip: GECKODRIVER ? undefined : "no Firefox, or no geckodriver" }, () => {
  let page;
  before(async () => {
    page = await launchFirefox();
  });
  after(() => page?.close());

  connectionsIn("Firefox", async (_t, url) => {
    await page.goto(url);
    return { page };
  });
});
