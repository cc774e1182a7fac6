// The packed package in pages, as each bundler makes them by default.
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { CHROMIUM, launch } from "../pages/browser.mjs";
import { PAGES } from "./cases.mjs";
import { serve } from "./files.mjs";
import { workshop } from "./workshop.mjs";

const shop = workshop();
const skip = CHROMIUM ? undefined : "no chromium";

/** Opens a page and waits for what came of its call. */
async function outcome(browser, origin, key) {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    const errors = [];
    page.on("pageerror", (error) => errors.push(String(error)));
    await page.goto(`${origin}/?${new URLSearchParams({ url: shop.server.url, key })}`);
    const told = await page.waitForFunction(() => globalThis.outcome, undefined, { timeout: 60_000 });
    assert.deepEqual(errors, []);
    return await told.jsonValue();
  } finally {
    await context.close();
  }
}

/** No part of a bundle compiles text or reaches for Node; all of it is there before the page asks. */
async function assertPlain(folder) {
  const names = await readdir(folder, { recursive: true });
  const scripts = names.filter((name) => name.endsWith(".js"));
  assert.ok(scripts.length > 0);
  for (const name of scripts) {
    const text = await readFile(join(folder, name), "utf8");
    assert.doesNotMatch(text, /\beval\s*\(|\bnew Function\b/, name);
    assert.doesNotMatch(text, /(?:\bfrom|\bimport|\brequire\()\s*\(?["']node:/, name);
    assert.doesNotMatch(text, /\bimport\s*\(/, name);
  }
}

describe("a call that is cut makes landfall in a page", { concurrency: 3, skip }, () => {
  let browser;
  before(async () => {
    browser = await launch();
  });
  after(() => browser?.close());

  for (const { name, how, entries, ...bundler } of PAGES) {
    for (const entry of entries) {
      test(`of ${how}, with ${entry}`, async (t) => {
        const folder = await shop.package.project();
        const built = await bundler.build?.(folder, entry);
        const server = built ? await serve(built) : await bundler.serve(folder, entry);
        t.after(() => server.stop());
        const key = `${name} ${how} ${entry}`;
        shop.assertCarried(key, await outcome(browser, server.url, key));
        // Not the bundles with an SDK in them: what that has is its own.
        if (built && !entry.includes("/v")) await assertPlain(built);
      });
    }
  }
});
