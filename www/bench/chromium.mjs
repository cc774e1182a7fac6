// node www/bench/chromium.mjs [WORDS...] [--rounds N]: the package in a page of Chromium beside its rivals, as node.mjs.
// CPU is that of the page's process; the network is another process, and costs all of them the same.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { launch } from "../../tests/pages/browser.mjs";
import { bundle } from "./bundle.mjs";
import { main } from "./main.mjs";
import { cpuOf } from "./proc.mjs";
import { scenarios } from "./scenarios.mjs";
import { listen } from "./server.mjs";

const PAGE = "<!doctype html><meta charset=utf-8><title>bench</title>";

/** Without those that want more connections than a page has to a server. */
const ids = Object.keys(scenarios).filter((id) => id !== "open");

async function serve() {
  const script = await readFile(join(await bundle("hosted", "page", ["browser"]), "hosted.js"));
  return listen({
    controls: { "/cpu": ({ pids }) => cpuOf(pids) },
    pages(path, response) {
      const [type, body] =
        { "/": ["text/html", PAGE], "/hosted.js": ["text/javascript", script] }[path] ?? [];
      if (type !== undefined) response.writeHead(200, { "content-type": type }).end(body);
      return type !== undefined;
    },
  });
}

async function renderers(browser) {
  const devtools = await browser.newBrowserCDPSession();
  const { processInfo } = await devtools.send("SystemInfo.getProcessInfo");
  return processInfo.filter(({ type }) => type === "renderer").map(({ id }) => id);
}

/** Runs in the page. */
const inPage = async ([id, how]) => (await import("/hosted.js")).run(id, how);

await main("chromium", ids, async (wanted, load) => {
  const server = await serve();
  const browser = await launch(["--js-flags=--expose-gc"]);
  const results = {};
  try {
    const page = await browser.newPage();
    await page.goto(new URL("/", server.url).href);
    // A request of a page goes through three processes.
    const how = { url: server.url, load: { ...load, calls: load.calls / 5 }, pids: await renderers(browser) };
    for (const id of wanted) results[id] = { unit: "us", samples: await page.evaluate(inPage, [id, how]) };
  } finally {
    await browser.close();
    server.close();
  }
  return { runtime: `Chromium ${browser.version()}`, results };
});
