// Redirects in real browsers, which hide where they lead: nothing of a call's leaves its origin, and `/mcp` still leads to `/mcp/`.
import assert from "node:assert/strict";
import { createServer, request } from "node:http";
import { after, before, describe, test } from "node:test";
import { CHROMIUM, workshop } from "./browser.mjs";
import { GECKODRIVER, launchFirefox } from "./webdriver.mjs";

const shop = workshop();
const CORS = {
  "access-control-allow-origin": "*",
  "access-control-allow-headers": "*",
  "access-control-allow-methods": "*",
  "access-control-expose-headers": "*",
  "access-control-max-age": "600",
};
const SECRET = "a secret of the user's";

/** A server on 127.0.0.1: `{ origin, close() }`. */
async function serve(handler) {
  const server = createServer(handler);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${server.address().port}`,
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

async function bodyOf(req) {
  let text = "";
  for await (const chunk of req) text += chunk;
  return text;
}

/** Another origin, which takes whatever comes; `got` is all that came. */
async function stranger() {
  const got = [];
  const server = await serve(async (req, res) => {
    got.push({ method: req.method, headers: req.headers, body: await bodyOf(req) });
    res.writeHead(200, { ...CORS, "content-type": "text/plain" }).end("thanks");
  });
  return { ...server, got, url: `${server.origin}/mcp` };
}

/** The fault server behind a front that redirects where `turn` gives a status and a place. */
function front(turn) {
  return serve(async (req, res) => {
    const body = await bodyOf(req);
    const turned = req.method === "OPTIONS" ? undefined : turn(req, body);
    if (turned) {
      res.writeHead(turned.status, { ...CORS, location: turned.location }).end();
      return;
    }
    const { method, headers } = req;
    const ahead = request(`${shop.server.origin}/mcp`, { method, headers }, (answer) => {
      res.writeHead(answer.statusCode, { ...answer.headers, ...CORS });
      answer.pipe(res);
    });
    ahead.on("error", () => res.destroy());
    res.on("close", () => ahead.destroy());
    ahead.end(body);
  });
}

/** What a request is, as far as it matters where it is turned. */
function nameOf({ method }, body) {
  return method === "POST" ? JSON.parse(body).method : method;
}

/** Runs in the page: a session with one call that is cut, and how each of its parts ended. */
async function callIn({ url, key, secret }) {
  const { connect } = await import("/npm/entry/index.js");
  const told = ({ reason, outcome, message }) => ({ reason, outcome, message });
  const headers = { "x-api-key": secret };
  let session;
  try {
    session = await connect(url, { headers, listen: true, timeouts: { recoveryMs: 5_000, callMs: 5_000 } });
  } catch (error) {
    return { connect: told(error) };
  }
  const steps = [
    { message: "first" },
    { wait: 30 },
    { cut: "rst" },
    { awaitResume: true },
    { message: "last" },
  ];
  const call = session.callTool("scripted", { key, secret, steps });
  const messages = [];
  for await (const event of call) if (event.type === "message") messages.push(event.message.params.data);
  const result = await call.result.then(({ structuredContent }) => structuredContent, told);
  await session.close();
  return { messages, result };
}

function redirectsIn(browser, open) {
  for (const status of [301, 303, 307, 308]) {
    for (const part of ["initialize", "tools/call", "GET", "DELETE"]) {
      test(`a ${status} of ${part} hands another origin nothing of ours`, async (t) => {
        const other = await stranger();
        const turn = (req, body) => nameOf(req, body) === part && { status, location: other.url };
        const server = await front(turn);
        t.after(() => Promise.all([other.close(), server.close()]));
        const page = await open(t);
        const key = `${browser} ${status} ${part}`;
        const got = await page.evaluate(callIn, { url: `${server.origin}/mcp`, key, secret: SECRET });
        if (part === "initialize") assert.equal(got.connect.reason, "redirected");
        if (part === "tools/call") {
          assert.deepEqual([got.result.reason, got.result.outcome], ["redirected", "unknown"]);
          assert.match(got.result.message, /redirectPolicy/);
        }
        if (part === "DELETE") assert.deepEqual(got.messages, ["first", "last"]);
        for (const { method, headers, body } of other.got) {
          const names = Object.keys(headers).filter((name) =>
            /^(mcp-|x-|cookie|referer|auth|last-)/.test(name),
          );
          assert.deepEqual([method, names, body], ["GET", [], ""]);
          assert.ok(!JSON.stringify(headers).includes(SECRET));
        }
      });
    }
  }

  for (const status of [307, 308]) {
    test(`a call is carried where /mcp is a ${status} to /mcp/`, async (t) => {
      const asked = [];
      const server = await front((req, body) => {
        asked.push(`${nameOf(req, body)} ${req.url}`);
        return req.url === "/mcp" && { status, location: "/mcp/" };
      });
      t.after(() => server.close());
      const page = await open(t);
      const key = `${browser} ${status} slash`;
      const got = await page.evaluate(callIn, { url: `${server.origin}/mcp`, key, secret: SECRET });
      assert.deepEqual(got.messages, ["first", "last"]);
      assert.equal(got.result.execution, 1);
      assert.equal(shop.server.executions(key), 1);
      // One that is hidden, one that finds out; and all others go there at once.
      assert.deepEqual(
        asked.filter((each) => !each.endsWith("/")),
        ["initialize /mcp", "GET /mcp"],
      );
    });
  }
}

describe("in Chromium", { skip: CHROMIUM ? undefined : "no chromium" }, () => {
  redirectsIn("Chromium", async (t) => (await shop.open(t)).page);
});

describe("in Firefox", { skip: GECKODRIVER ? undefined : "no Firefox, or no geckodriver" }, () => {
  let page;
  before(async () => {
    page = await launchFirefox();
  });
  after(() => page?.close());

  redirectsIn("Firefox", async () => {
    await page.goto(shop.site.page());
    return page;
  });
});
