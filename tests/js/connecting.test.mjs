// The handshake of `connect` in a core that is real: it is made again, and what it began in vain is ended.
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect } from "../../target/modules/entry/index.js";
import { stubServer } from "./support/stub-server.mjs";

const address = "https://server.test/mcp";

test("connect waits for a server that is not well, and tells its attempts where it does not come to be", async () => {
  let posts = 0;
  const unwell = (times) =>
    stubServer(({ body }) => {
      if (body?.method !== "initialize") return undefined;
      posts += 1;
      if (posts > times) return undefined;
      return posts % 2 === 0
        ? Promise.reject(new TypeError("fetch failed"))
        : new Response("busy", { status: 503 });
    });
  const session = await connect(address, { fetch: unwell(2).fetch, retry: { baseMs: 10, maxMs: 20 } });
  assert.equal(posts, 3);
  await session.close();
  posts = 0;
  const thrown = await connect(address, {
    fetch: unwell(Number.POSITIVE_INFINITY).fetch,
    retry: { baseMs: 40, maxMs: 40 },
    timeouts: { handshakeMs: 300 },
  }).catch((caught) => caught);
  assert.ok(["http_error", "network_error"].includes(thrown.reason), thrown.reason);
  assert.match(thrown.message, /handshakeMs/);
  const { attempts } = thrown.diagnostics;
  // The last one may have been planned, and not made.
  assert.ok(attempts.length === posts - 1 || attempts.length === posts, `${attempts.length} of ${posts}`);
  assert.deepEqual([attempts[0].level, attempts[0].result], ["reissue", "network_error"]);
  assert.deepEqual([attempts[1].result, attempts[1].status], ["refused", 503]);
});

test("a session that a failed connect began is ended at the server", async () => {
  let ended;
  const deleted = new Promise((resolve) => {
    ended = resolve;
  });
  const server = stubServer(({ method, body, headers, signal }) => {
    if (body?.method === "notifications/initialized") return new Response("no", { status: 400 });
    if (method !== "DELETE") return undefined;
    ended({ session: headers.get("mcp-session-id"), signal });
    return new Response(null, { status: 200 });
  });
  const thrown = await connect(address, { fetch: server.fetch }).catch((caught) => caught);
  assert.equal(thrown.reason, "http_error");
  assert.ok((await deleted).session);
});
