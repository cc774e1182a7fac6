// node www/bench/chromium.mjs [WORDS...] [--rounds N]: the package in a page of Chromium beside its rivals, as node.mjs.
// CPU is that of the page's process; the network is another process, and costs all of them the same.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { launch } from "../../tests/pages/browser.mjs";
import { bundle } from "./bundle.mjs";
import { inPages } from "./fresh-page.mjs";
import { main } from "./main.mjs";
import { measureAll, once } from "./once.mjs";
import { cpuOf } from "./proc.mjs";
import { scenarios } from "./scenarios.mjs";
import { listen } from "./server.mjs";

const PAGE = "<!doctype html><meta charset=utf-8><title>bench</title>";

// A request of a page goes through three processes, and a page has six connections to a server.
const { open, ...inOnePage } = scenarios;
const ids = [...Object.keys(inOnePage), ...Object.keys(once)];

async function serve() {
  const folder = await bundle(["hosted", "page-landfall", "page-sdk"], "page", ["browser"]);
  const files = Object.fromEntries(
    await Promise.all(
      (await readdir(folder)).map(async (name) => [`/${name}`, await readFile(join(folder, name))]),
    ),
  );
  return listen({
    controls: { "/cpu": ({ pids }) => cpuOf(pids) },
    pages(path, response) {
      const [type, body] = path in files ? ["text/javascript", files[path]] : ["text/html", PAGE];
      if (body !== PAGE || path === "/") response.writeHead(200, { "content-type": type }).end(body);
      return response.headersSent;
    },
  });
}

async function renderers(browser) {
  const devtools = await browser.newBrowserCDPSession();
  const { processInfo } = await devtools.send("SystemInfo.getProcessInfo");
  await devtools.detach();
  return processInfo.filter(({ type }) => type === "renderer").map(({ id }) => id);
}

/** Runs `run(page, pids)` in a page of its own, of no cache but its own. */
async function inPage(browser, url, run) {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    await page.goto(new URL("/", url).href);
    return await run(page, await renderers(browser));
  } finally {
    await context.close();
  }
}

/** Runs in the page. */
const scenario = async ([id, how]) => (await import("/hosted.js")).run(id, how);

await main("chromium", ids, async (wanted, load) => {
  const { url, close } = await serve();
  const browser = await launch(["--js-flags=--expose-gc"]);
  const runs = Object.fromEntries(
    Object.keys(inOnePage).map((id) => [
      id,
      (_host, { calls, ...more }) =>
        inPage(browser, url, (page, pids) =>
          page.evaluate(scenario, [id, { url, pids, load: { ...more, calls: calls / 5 } }]),
        ),
    ]),
  );
  const host = {
    url,
    inPage: (run) => inPage(browser, url, run),
    fresh: (what, who) => inPages[what](host, who),
  };
  try {
    const results = await measureAll(wanted, { scenarios: runs, host, load });
    return { runtime: `Chromium ${browser.version()}`, results };
  } finally {
    await browser.close();
    close();
  }
});
