// What a page finds out of a server of another origin, which lets it send the headers of one year or of the other.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createModernServer } from "../server/modern/server.mjs";
import { CHROMIUM, workshop } from "./browser.mjs";
import { GECKODRIVER, launchFirefox } from "./webdriver.mjs";

const shop = workshop();

/** Runs in the page: what `connect` found out, and what became of a call. */
async function callIn({ url, key }) {
  const { connect } = await import("/npm/entry/index.js");
  try {
    const session = await connect(url, { timeouts: { handshakeMs: 5_000 }, logger: false });
    await session.listTools();
    const call = session.callTool("scripted", { key, steps: [{ progress: 1 }, { wait: 20 }] });
    const progress = [];
    for await (const event of call) if (event.type === "progress") progress.push(event.progress);
    const { structuredContent } = await call.result;
    await session.close();
    const { era, protocolVersion } = session;
    return { era, protocolVersion, progress, execution: structuredContent.execution };
  } catch (error) {
    return { reason: error.reason, message: error.message };
  }
}

const LEGACY = { era: "legacy", protocolVersion: "2025-11-25", progress: [1], execution: 1 };
const MODERN = { era: "modern", protocolVersion: "2026-07-28", progress: [1], execution: 1 };

/** The server, the year of its list, and what a page finds. */
const CASES = [
  ["a server of 2026 with its list", { cors: "2026" }, MODERN],
  ["a server of both eras with sessions and a list of 2025", { cors: "2025", legacy: "sessions" }, LEGACY],
  ["a server of both eras with sessions and both lists", { cors: "both", legacy: "sessions" }, LEGACY],
  [
    "a server of both eras without sessions and with a list of 2025",
    { cors: "2025", legacy: "stateless" },
    LEGACY,
  ],
  [
    "a server of both eras without sessions and with a list of 2026",
    { cors: "2026", legacy: "stateless" },
    MODERN,
  ],
];

function erasIn(browser, open) {
  for (const [what, options, found] of CASES) {
    test(`${what} is spoken to at ${found.protocolVersion}`, async (t) => {
      const server = await createModernServer(options);
      t.after(() => server.close());
      const key = `${browser} ${what}`;
      assert.deepEqual(await (await open(t)).evaluate(callIn, { url: server.url, key }), found);
      assert.equal(server.executions(key), 1);
    });
  }

  test("a server of 2026 with a list of 2025 is told as one that has to allow more headers", async (t) => {
    const server = await createModernServer({ cors: "2025" });
    t.after(() => server.close());
    const got = await (await open(t)).evaluate(callIn, { url: server.url, key: `${browser} never` });
    assert.equal(got.reason, "unsupported_version");
    assert.match(got.message, /must list mcp-protocol-version, mcp-method in Access-Control-Allow-Headers/);
    assert.equal(server.executions(`${browser} never`), 0);
  });
}

describe("in Chromium", { skip: CHROMIUM ? undefined : "no chromium" }, () => {
  erasIn("Chromium", async (t) => (await shop.open(t)).page);
});

describe("in Firefox", { skip: GECKODRIVER ? undefined : "no Firefox, or no geckodriver" }, () => {
  let page;
  before(async () => {
    page = await launchFirefox();
  });
  after(() => page?.close());

  erasIn("Firefox", async () => {
    await page.goto(shop.site.page());
    return page;
  });
});
