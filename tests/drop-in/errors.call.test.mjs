// What programs check on the error of a failed call. An AI SDK with `maxRetries` executes a tool again when it finds a
// `statusCode` or certain string codes; others choose by status, brand or the words of the text.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { SdkHttpError } from "@modelcontextprotocol/client";
import { MCPClientError } from "ai-mcp-2";
import { clients, sdkV1 } from "./clients/all.mjs";
import { serveEra } from "./server.mjs";
import { Stage } from "./stage.mjs";
import { misleading } from "./texts.mjs";
import { createTransport, landfall, ours } from "./transports.mjs";

const cut = [{ noIds: true }, { message: "working" }, { wait: 100 }, { cut: "rst" }];
const FAILURES = [
  { name: "403", status: 403, reason: "forbidden", outcome: "rejected" },
  { name: "405", status: 405, reason: "http_error", outcome: "rejected" },
  { name: "410", status: 410, reason: "http_error", outcome: "rejected", era: "modern" },
  { name: "415", status: 415, reason: "http_error", outcome: "rejected" },
  { name: "408", status: 408, execute: true, reason: "http_error", outcome: "unknown" },
  { name: "409", status: 409, execute: true, reason: "http_error", outcome: "unknown" },
  { name: "500", status: 500, execute: true, reason: "http_error", outcome: "unknown" },
  { name: "503", status: 503, execute: true, reason: "http_error", outcome: "unknown" },
  {
    name: "429 with too long a `Retry-After`",
    status: 429,
    headers: { "retry-after": "100000" },
    reason: "retry_exceeds_budget",
    outcome: "rejected",
  },
  {
    name: "a cut before the headers",
    cutBeforeHeaders: "rst",
    execute: true,
    reason: "network_error",
    outcome: "unknown",
  },
  { name: "a cut of the stream", steps: cut, reason: "stream_lost", outcome: "unknown" },
];

for (const client of clients) {
  describe(`a failed call of ${client.name}`, ours, () => {
    let server;
    let session;
    before(async () => {
      server = await serveEra(client.era);
      session = await client.open(createTransport(client, server.url), { maxRetries: 3 });
    });
    after(async () => {
      await session.close();
      await server.close();
    });

    for (const failure of FAILURES.filter(({ era = client.era }) => era === client.era)) {
      const { name, steps = [], reason, outcome, era, ...post } = failure;
      const isHttp = ["forbidden", "http_error"].includes(reason);
      test(`${name}: is not taken for one to be repeated, and says what it was`, async () => {
        const given = server.steps(steps);
        const error = await session.call("scripted", { key: name, steps: given, post }).then(
          () => assert.fail("the call was answered"),
          (thrown) => thrown,
        );
        assert.ok(error instanceof landfall.ToolCallFailedError, String(error));
        assert.deepEqual([error.reason, error.outcome], [reason, outcome]);
        assert.equal(server.executions(name), post.execute || steps.length > 0 ? 1 : 0);
        assert.equal("statusCode" in error, false);
        assert.equal(error.code, isHttp && outcome === "rejected" ? post.status : undefined);
        assert.deepEqual(misleading(error.message, post.status), []);
        assert.equal(error instanceof SdkHttpError, isHttp);
        if (isHttp) assert.deepEqual([error.status, error.data.status], [post.status, post.status]);
        if (!client.hasTimer) assert.ok(MCPClientError.isInstance(error));
      });
    }
  });
}

test("a cause that names a port makes no text name a status", ours, async (t) => {
  const stage = new Stage(t);
  const server = await stage.serve("legacy");
  const fetch = async (url, init) => {
    if (!init.body?.includes("tools/call")) return globalThis.fetch(url, init);
    const cause = Object.assign(new Error("connect ECONNRESET 127.0.0.1:40405"), { code: "ECONNRESET" });
    throw new TypeError("fetch failed", { cause });
  };
  const session = await stage.open(sdkV1, server, { fetch });
  await assert.rejects(session.call("scripted", { key: "port", steps: [] }), (error) => {
    assert.equal(error.reason, "network_error");
    assert.deepEqual(misleading(error.message), []);
    return true;
  });
});
