// Pages of Chromium and Firefox before a relay, behind which is a server that keeps no events and sends no CORS headers.
import assert from "node:assert/strict";
import { after, before, describe } from "node:test";
import { CHROMIUM, launch } from "../../pages/browser.mjs";
import { createSite } from "../../pages/site.mjs";
import { GECKODRIVER, launchFirefox } from "../../pages/webdriver.mjs";
import { timed } from "../../support/timed.mjs";
import { cutter } from "../cutter.mjs";
import { stage, until } from "../stage.mjs";
import { dropper } from "./dropper.mjs";

const AWAY_MS = 5_000;
const LINES = { cutter, dropper };

/** `open()` gives a page, `{ goto, evaluate, close }`. */
function pagesIn(browser, open) {
  let at;
  let site;
  let page;
  let keys = 0;
  const newKey = () => `${browser} ${++keys}`;
  before(async () => {
    [site, page] = await Promise.all([createSite(), open()]);
    at = await stage({ env: { ORIGINS: new URL(site.page()).origin } });
  });
  after(async () => {
    await page?.close();
    await at?.close();
    await site?.close();
  });

  const begin = async (line, options, given) => {
    await page.goto(site.page());
    // The page's scripts have run once it has loaded.
    await page.evaluate((argument) => globalThis.openRelayed(argument), { url: line.url, options });
    return page.evaluate((argument) => globalThis.beginRelayed(argument), given);
  };
  const end = (key) => page.evaluate((argument) => globalThis.endRelayed(argument), { key });
  const test = (name, line, run) =>
    timed(name, async (t) => {
      const made = await LINES[line](at.url);
      try {
        await run(made, t);
      } finally {
        await made.close();
      }
    });

  for (const relay of [true, false])
    test(
      `a call outlives a network that is cut for 5 s, ${relay ? "" : "without a word of the relay, "}and its tool runs once`,
      "cutter",
      async (line) => {
        const key = newKey();
        await begin(line, { relay }, { tool: "hold", key });
        await until(() => at.upstream.runs(key) === 1, "the run");
        const cutAt = Date.now();
        line.cut(AWAY_MS);
        // Its result comes while nobody is there.
        setTimeout(() => at.upstream.release(key), AWAY_MS / 2);
        const { text, sent } = await end(key);
        assert.equal(text, `held ${key}`);
        // With a key it may be sent again, which is a repeat.
        assert.ok(sent === 1 || relay, `sent ${sent} times`);
        assert.ok(Date.now() - cutAt >= AWAY_MS);
        assert.equal(at.upstream.runs(key), 1);
      },
    );

  for (const relay of [true, false])
    for (const how of ["fin", "rst"])
      test(
        `a POST that the browser repeats after a ${how.toUpperCase()} runs once, ${relay ? "by its key" : "by its id and body"}`,
        "dropper",
        async (line) => {
          const key = newKey();
          line.lose({ word: key, how, when: () => until(() => at.upstream.runs(key) === 1, "the run") });
          await begin(line, { relay }, { tool: "count", key });
          assert.deepEqual(await end(key), { text: "run 1", sent: 1 }, "landfall sent it once");
          assert.equal(line.posts.length, 2, "the browser sent it twice");
          assert.ok(line.posts[0].nth > 1, "its connection was used before");
          assert.equal(at.upstream.runs(key), 1);
        },
      );
}

describe("in Chromium", { skip: CHROMIUM ? undefined : "no Chromium" }, () =>
  pagesIn("Chromium", async () => {
    const browser = await launch();
    const page = await browser.newPage();
    return {
      goto: (url) => page.goto(url),
      evaluate: (run, given) => page.evaluate(run, given),
      close: () => browser.close(),
    };
  }),
);

describe("in Firefox", { skip: GECKODRIVER ? undefined : "no Firefox, or no geckodriver" }, () =>
  pagesIn("Firefox", launchFirefox),
);
