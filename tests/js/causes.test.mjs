// The `cause` of a failure, with the real core: what was thrown where the call needed it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect } from "../../target/modules/entry/index.js";
import { timed } from "../support/timed.mjs";
import { eventStream, stubServer } from "./support/stub-server.mjs";

const address = "https://server.test/mcp";
const timeouts = { connectMs: 100, idleMs: 400, callMs: 600, recoveryMs: 600, deadlineMs: 1_500 };

/** The failure of one call whose POST is answered so. */
async function failureOf(answer, options = {}) {
  const server = stubServer(({ body }) => (body?.method === "tools/call" ? answer() : undefined));
  const session = await connect(address, { era: "resumable", fetch: server.fetch, timeouts, ...options });
  const thrown = await session.callTool("work").result.catch((caught) => caught);
  await session.close();
  return thrown;
}

timed("a fetch that rejects is the cause, whatever it rejects with", async () => {
  for (const cause of [new TypeError("fetch failed"), "text", { message: 5 }]) {
    const thrown = await failureOf(() => Promise.reject(cause));
    assert.deepEqual([thrown.name, thrown.cause], ["ToolCallFailedError", cause]);
  }
});

timed("a handshake that can't reach the server has the cause, too", async () => {
  const cause = new TypeError("fetch failed");
  const thrown = await connect(address, { fetch: () => Promise.reject(cause), timeouts }).catch(
    (caught) => caught,
  );
  assert.deepEqual([thrown.method, thrown.cause], ["initialize", cause]);
});

timed("headers() that throws is named in the message, is the cause, and nothing was sent", async () => {
  const cause = new Error("no token");
  let isBroken = false;
  const headers = () => {
    if (isBroken) throw cause;
    return {};
  };
  const server = stubServer();
  const session = await connect(address, { era: "resumable", fetch: server.fetch, timeouts, headers });
  isBroken = true;
  const thrown = await session.callTool("work").result.catch((caught) => caught);
  assert.match(thrown.message, /headers\(\) threw: no token/);
  assert.deepEqual([thrown.outcome, thrown.cause], ["not_sent", cause]);
  isBroken = false;
  await session.close();
});

timed("a body that errors is the cause, with any kind of message, and the instance lives on", async () => {
  for (const value of ["gone", undefined, 5, {}, Symbol("s")]) {
    const cause = Object.defineProperty(new Error("text"), "message", { value });
    const thrown = await failureOf(() => {
      const stream = eventStream();
      stream.fail(cause);
      return stream.response;
    });
    assert.deepEqual([thrown.reason, thrown.cause], ["stream_lost", cause]);
  }
});

timed(
  "a call that failed for another reason has no cause of an earlier exchange, nor one that was cancelled",
  async () => {
    const thrown = await failureOf(() => new Response(null, { status: 400 }));
    assert.equal("cause" in thrown, false);
    const server = stubServer(({ body }) =>
      body?.method === "tools/call" ? new Promise(() => {}) : undefined,
    );
    const session = await connect(address, { era: "resumable", fetch: server.fetch, timeouts });
    const call = session.callTool("work");
    call.cancel();
    const cancelled = await call.result.catch((caught) => caught);
    assert.deepEqual([cancelled.reason, "cause" in cancelled], ["cancelled", false]);
    await session.close();
  },
);

test("where Node's own fetch gave up, the message says after what, and what lifts that", async () => {
  const limit = (code) =>
    Object.assign(new TypeError("terminated"), { cause: Object.assign(new Error(), { code }) });
  const late = await failureOf(() => Promise.reject(limit("UND_ERR_HEADERS_TIMEOUT")));
  assert.equal(late.reason, "network_error");
  assert.match(late.message, /UND_ERR_HEADERS_TIMEOUT.*300 s.* headersTimeout: 0 as requestInit\.dispatcher/);
  const silent = await failureOf(() => {
    const stream = eventStream();
    stream.fail(limit("UND_ERR_BODY_TIMEOUT"));
    return stream.response;
  });
  assert.equal(silent.reason, "stream_lost");
  assert.match(silent.message, /without a byte.*300 s.* bodyTimeout: 0 as requestInit\.dispatcher/);
  const other = await failureOf(() => Promise.reject(limit("ECONNRESET")));
  assert.doesNotMatch(other.message, /dispatcher/);
});

test("a dispatcher in requestInit reaches fetch with every request", async () => {
  const dispatcher = { name: "mine" };
  const server = stubServer();
  const seen = new Set();
  const fetch = (url, init) => {
    seen.add(init.dispatcher);
    return server.fetch(url, init);
  };
  const session = await connect(address, { fetch, requestInit: { dispatcher } });
  await session.callTool("work").result;
  await session.close();
  assert.deepEqual([...seen], [dispatcher]);
});
