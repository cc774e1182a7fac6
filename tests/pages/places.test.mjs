// A call that is cut, in the places of a page where other packages of WebAssembly fail.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { assertCarried } from "../packaging/workshop.mjs";
import { workshop } from "./browser.mjs";
import { GECKODRIVER, launchFirefox } from "./webdriver.mjs";

const shop = workshop();
const STRICT = "'self' 'wasm-unsafe-eval'";
const REFUSED = {
  name: "ToolCallFailedError",
  method: "initialize",
  reason: "internal_error",
  outcome: "not_sent",
};
const policyOf = (script) =>
  `default-src 'none'; script-src ${script}; connect-src 'self' ${shop.server.origin}`;

/** Runs in the page. */
const carryIn = ({ place, ...call }) => globalThis.carryIn(place, call);

/** `open` resolves with a page at an address, and what nobody caught in it. */
function placesIn(browser, open) {
  for (const place of ["page", "Web Worker", "Service Worker"]) {
    for (const entry of ["index.js", "url.js"]) {
      const run = async (t, script) => {
        const policy = policyOf(script);
        const { page, errors } = await open(t, shop.site.page(policy));
        const key = `${browser} ${place} ${entry} ${script}`;
        const outcome = await page.evaluate(carryIn, { place, entry, url: shop.server.url, key, policy });
        assert.deepEqual(errors, []);
        return { key, outcome };
      };

      test(`${place}, ${entry}: script-src ${STRICT} is all that a call needs of a policy`, async (t) => {
        const { key, outcome } = await run(t, STRICT);
        assertCarried(shop.server, key, outcome);
      });

      test(`${place}, ${entry}: under script-src 'self' the error says what to add, and nothing is sent`, async (t) => {
        const sent = shop.server.log.length;
        const { outcome } = await run(t, "'self'");
        assert.deepEqual(outcome.error, REFUSED);
        assert.match(
          outcome.message,
          /WebAssembly module can't be used: .*add 'wasm-unsafe-eval' to script-src/,
        );
        assert.equal(shop.server.log.length, sent);
      });
    }
  }

  test("a cross-origin isolated page carries a call that is cut", async (t) => {
    const { page, errors } = await open(t, shop.site.isolated());
    assert.equal(await page.evaluate(() => globalThis.crossOriginIsolated), true);
    const key = `${browser} isolated`;
    const call = { place: "page", entry: "index.js", url: shop.server.url, key };
    assertCarried(shop.server, key, await page.evaluate(carryIn, call));
    assert.deepEqual(errors, []);
  });
}

describe("in Chromium", () => placesIn("Chromium", shop.openAt));

describe("in Firefox", { skip: GECKODRIVER ? undefined : "no Firefox, or no geckodriver" }, () => {
  let page;
  before(async () => {
    page = await launchFirefox();
  });
  after(() => page?.close());

  placesIn("Firefox", async (_t, url) => {
    await page.goto(url);
    return { page, errors: [] };
  });
});
