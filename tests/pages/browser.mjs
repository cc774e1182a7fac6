// Debian's Chromium, driven by playwright-core, which brings no browser of its own.
import { after, before } from "node:test";
import { chromium } from "playwright-core";
import { onPath } from "../../www/build/path.mjs";
import { createFaultServer } from "../server/server.mjs";
import { createSite } from "./site.mjs";

const ARGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Where it is, if anywhere. */
export const CHROMIUM = onPath("chromium");

/** The fault server, the site and the browser of a test file, from its first test to its last. */
export function workshop() {
  const shop = {};
  before(async () => {
    [shop.server, shop.site, shop.browser] = await Promise.all([createFaultServer(), createSite(), launch()]);
  });
  after(() => Promise.all([shop.browser?.close(), shop.site?.close(), shop.server?.close()]));

  shop.open = (t, policy) => shop.openAt(t, shop.site.page(policy));

  /** A page at an address; `errors` are what nobody caught in it, rejections too. */
  shop.openAt = async (t, url) => {
    const context = await shop.browser.newContext({ ignoreHTTPSErrors: true });
    t.after(() => context.close());
    const page = await context.newPage();
    const errors = [];
    page.on("pageerror", (error) => errors.push(String(error)));
    await page.addInitScript(keepInstances);
    await page.goto(url);
    return { page, errors };
  };
  return shop;
}

/** Starts Chromium, with more arguments if there are any. */
export function launch(more = []) {
  if (CHROMIUM === undefined) throw new Error("chromium is not on the PATH");
  return chromium.launch({ executablePath: CHROMIUM, args: [...ARGS, ...more] });
}

/** Runs in the page before anything else: `instances` lists every WebAssembly.Instance that is made there. */
function keepInstances() {
  globalThis.instances = [];
  WebAssembly.Instance = new Proxy(WebAssembly.Instance, {
    construct(target, args) {
      const made = Reflect.construct(target, args);
      globalThis.instances.push(made);
      return made;
    },
  });
}
