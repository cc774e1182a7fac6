// Sign-in, and tokens that expire: before a call, under ten of them, and while a cut call is on its way back.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { InMemoryOAuthProvider } from "../conformance/oauth-provider.mjs";
import { createCuttingProxy } from "../interop/proxy.mjs";
import { startProtectedServer } from "./protected-server.mjs";
import { SDKS } from "./sdks.mjs";
import { SUBJECT, transportClass } from "./transports.mjs";

const PATIENCE_MS = 2_500;
const TRANSPORTS = new Set(["official", SUBJECT]);

/** Connects as a user does: is turned away, signs in, and connects again. */
async function signedIn(sdk, Transport, url) {
  const authProvider = new InMemoryOAuthProvider({ name: "landfall-migration" });
  const client = sdk.newClient({});
  const first = new Transport(new URL(url), { authProvider });
  await assert.rejects(client.connect(first), sdk.UnauthorizedError);
  const callback = authProvider.takeCallback();
  await first.finishAuth(sdk.sdk === "v1" ? callback.get("code") : callback);
  await client.connect(new Transport(new URL(url), { authProvider }));
  return client;
}

const narrate = (sdk, client, key, options) =>
  sdk.callTool(client, "narrate", { lines: 5, interval_ms: 20, key }, options);

function testExpiryDuringCut(sdk, { plans, server, proxy }) {
  test(`${SUBJECT}: a call that was cut resumes though its token has expired`, async (t) => {
    const run = async (transport, key, options) => {
      plans.set(key, [{ after: 4, how: "rst" }]);
      const client = await signedIn(sdk, await transportClass(transport, sdk.sdk), proxy().url);
      const lines = [];
      sdk.onNotification(client, "notifications/message", ({ params }) => {
        if (lines.length === 0) server().expireTokens();
        lines.push(params.data);
      });
      const { content } = await narrate(sdk, client, key, options).finally(() => client.close());
      return { lines, result: content[0].text };
    };
    const theirs = await run("official", "theirs", { timeout: PATIENCE_MS }).catch((error) => error);
    t.diagnostic(
      `the official transport: ${theirs instanceof Error ? theirs.message : JSON.stringify(theirs)}`,
    );
    const ours = await run(SUBJECT, "ours");
    assert.deepEqual(ours, {
      lines: [1, 2, 3, 4, 5].map((line) => `line ${line}`),
      result: "5 lines",
    });
    assert.equal(await server().executions("ours"), 1);
    const resumes = proxy().exchanges.filter(({ method, key }) => method === "GET" && key === "ours");
    assert.deepEqual(
      resumes.map(({ status }) => status),
      [401, 200],
    );
  });
}

for (const sdk of SDKS) {
  describe(`OAuth, ${sdk.name}`, { timeout: 60_000 }, () => {
    const plans = new Map();
    let server;
    let proxy;
    before(async () => {
      server = await startProtectedServer();
      proxy = await createCuttingProxy({ upstream: server.url, plan: (key) => plans.get(key) ?? [] });
      server.announce(proxy.url);
    });
    after(async () => {
      await proxy?.close();
      await server?.stop();
    });

    for (const transport of TRANSPORTS) {
      test(`${transport}: who signed in gets in, and an expired token is replaced`, async () => {
        const client = await signedIn(sdk, await transportClass(transport, sdk.sdk), proxy.url);
        const first = await sdk.callTool(client, "add", { a: 2, b: 3 });
        const refreshes = server.refreshes;
        server.expireTokens();
        const second = await sdk.callTool(client, "add", { a: 3, b: 4 });
        await client.close();
        assert.deepEqual([first.content[0].text, second.content[0].text], ["5", "7"]);
        assert.equal(server.refreshes, refreshes + 1);
      });
    }

    if (SUBJECT === "official") return;
    test(`${SUBJECT}: ten calls whose token expired share one refresh`, async () => {
      const client = await signedIn(sdk, await transportClass(SUBJECT, sdk.sdk), proxy.url);
      const refreshes = server.refreshes;
      server.expireTokens();
      const calls = Array.from({ length: 10 }, (_, n) => sdk.callTool(client, "add", { a: n, b: n }));
      const results = await Promise.all(calls);
      await client.close();
      assert.deepEqual(
        results.map(({ content }) => Number(content[0].text)),
        results.map((_, n) => 2 * n),
      );
      assert.equal(server.refreshes, refreshes + 1);
    });

    if (!sdk.speaksModern) testExpiryDuringCut(sdk, { plans, server: () => server, proxy: () => proxy });
  });
}
