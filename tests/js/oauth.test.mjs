// The OAuth providers of the SDKs, driven by the SDKs' own flow, over the real core.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as client2 from "@modelcontextprotocol/client";
import { UnauthorizedError as Unauthorized1 } from "@modelcontextprotocol/sdk/client/auth.js";
import { StreamableHTTPError } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { LandfallTransport } from "../../target/modules/entry/index.js";
import { LandfallTransport as OfV1 } from "../../target/modules/entry/v1.js";
import { LandfallTransport as OfV2 } from "../../target/modules/entry/v2.js";
import { address, challenge, memoryProvider, oauthStub } from "./support/oauth-stub.mjs";
import { eventStream } from "./support/stub-server.mjs";

const entries = [
  { name: "v1", Transport: OfV1, Unauthorized: Unauthorized1 },
  { name: "v2", Transport: OfV2, Unauthorized: client2.UnauthorizedError },
];
const initialize = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } },
};
const work = (id) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "work" } });
const bearer = (token) => `Bearer ${token}`;
const refreshable = { access_token: "old", refresh_token: "r", token_type: "Bearer", scope: "read" };

async function started(t, Transport, server, options) {
  const transport = new Transport(address, { fetch: server.fetch, listen: false, ...options });
  const messages = [];
  transport.onmessage = (message) => messages.push(message);
  t.after(() => transport.close());
  await transport.start();
  return { transport, messages };
}

for (const { name, Transport, Unauthorized } of entries) {
  test(`${name}: one refresh serves all requests that were refused, and each goes out again`, async (t) => {
    let token = "old";
    const server = oauthStub({
      accepts: (given) => given === bearer(token) || challenge(401),
      grants: [async () => ({ access_token: "new", refresh_token: "r2" })],
    });
    const authProvider = memoryProvider(refreshable);
    authProvider.saved.client = { client_id: "client-1" };
    const { transport, messages } = await started(t, Transport, server, { authProvider });
    await transport.send(initialize);
    token = "new";
    await Promise.all([1, 2, 3].map((id) => transport.send(work(id))));
    assert.deepEqual(messages.map(({ id }) => id).sort(), [0, 1, 2, 3]);
    assert.deepEqual(
      server.tokensAsked().map((body) => body.get("grant_type")),
      ["refresh_token"],
    );
    assert.equal(authProvider.saved.tokens.access_token, "new");
  });

  test(`${name}: a 401 at a resume refreshes and keeps the cursor`, async (t) => {
    let token = "old";
    const stream = eventStream();
    const resumed = eventStream();
    const server = oauthStub({
      accepts: (given) => given === bearer(token) || challenge(401),
      grants: [async () => ({ access_token: "new" })],
      answer({ method, body }) {
        if (method === "GET") return resumed.response;
        return body?.method === "tools/call" ? stream.response : undefined;
      },
    });
    const authProvider = memoryProvider(refreshable);
    authProvider.saved.client = { client_id: "client-1" };
    const { transport } = await started(t, Transport, server, { authProvider, retry: { baseMs: 10 } });
    await transport.send(initialize);
    stream.raw("id: e-1\nretry: 1\ndata:\n\n");
    let sent;
    await new Promise((onresumptiontoken) => {
      sent = transport.send(work(1), { onresumptiontoken });
    });
    token = "new";
    stream.close();
    const { id } = server.requests.find(({ body }) => body?.method === "tools/call").body;
    resumed.event({ id, result: { content: [] } });
    await sent;
    const gets = server.requests.filter(({ method }) => method === "GET");
    assert.deepEqual(
      gets.map(({ headers }) => [headers.get("authorization"), headers.get("last-event-id")]),
      [
        [bearer("old"), "e-1"],
        [bearer("new"), "e-1"],
      ],
    );
  });

  test(`${name}: a user who has to agree first gets the SDK's UnauthorizedError; then the transport goes on`, async (t) => {
    const server = oauthStub({
      accepts: (given) => given === bearer("agreed") || challenge(401, 'scope="read write", '),
      grants: [async () => ({ access_token: "agreed" })],
    });
    const authProvider = memoryProvider();
    const { transport, messages } = await started(t, Transport, server, { authProvider });
    const errors = [];
    transport.onerror = (error) => errors.push(error);
    const thrown = await transport.send(initialize).catch((caught) => caught);
    assert.ok(thrown instanceof Unauthorized);
    assert.equal(thrown[Symbol.for("mcp.authSeamEscape")], true);
    assert.deepEqual(errors, [thrown]);
    const [redirect] = authProvider.saved.redirects;
    assert.equal(redirect.searchParams.get("scope"), "read write");
    await transport.finishAuth(new URLSearchParams({ code: "c-1", iss: "https://server.test" }));
    assert.equal(server.tokensAsked()[0].get("code"), "c-1");
    await transport.send(initialize);
    assert.equal(messages.length, 1);
  });

  test(`${name}: finishAuth works on a transport that its Client has closed`, async (t) => {
    const server = oauthStub({
      accepts: () => challenge(401),
      grants: [async () => ({ access_token: "agreed" })],
    });
    const authProvider = memoryProvider();
    const { transport } = await started(t, Transport, server, { authProvider });
    await assert.rejects(transport.send(initialize), Unauthorized);
    await transport.close();
    await transport.finishAuth("c-1", "https://server.test");
    assert.equal(authProvider.saved.tokens.access_token, "agreed");
  });

  test(`${name}: credentials that are refused right after they were got are no loop`, async (t) => {
    const server = oauthStub({
      accepts: () => challenge(401),
      grants: Array.from({ length: 9 }, (_, i) => async () => ({ access_token: `t-${i}` })),
    });
    const authProvider = memoryProvider(refreshable);
    authProvider.saved.client = { client_id: "client-1" };
    const { transport } = await started(t, Transport, server, { authProvider });
    const thrown = await transport.send(initialize).catch((caught) => caught);
    // An application that meets the SDK's UnauthorizedError waits for a redirect, and none was begun.
    assert.ok(!(thrown instanceof Unauthorized));
    assert.ok(name === "v1" ? thrown instanceof StreamableHTTPError : thrown instanceof client2.SdkHttpError);
    assert.match(thrown.message, /401/);
    assert.equal(server.tokensAsked().length, 1);
    assert.equal(server.requests.length, 2);
  });

  test(`${name}: a 403 that asks for more scope asks for all of it together, as often as it may`, async (t) => {
    const more = 'error="insufficient_scope", scope="write", ';
    const server = oauthStub({
      accepts: (given, { body }) =>
        body?.method !== "tools/call" || given === bearer("wide") || challenge(403, more),
      grants: [async () => ({ access_token: "wide", scope: "read write" })],
    });
    const authProvider = memoryProvider({ ...refreshable, refresh_token: undefined });
    authProvider.saved.client = { client_id: "client-1" };
    const { transport, messages } = await started(t, Transport, server, { authProvider });
    await transport.send(initialize);
    await assert.rejects(transport.send(work(1)), Unauthorized);
    const [redirect] = authProvider.saved.redirects;
    assert.deepEqual(redirect.searchParams.get("scope").split(" ").sort(), ["read", "write"]);
    await transport.finishAuth("c-1", "https://server.test");
    await transport.send(work(2));
    assert.equal(messages.at(-1).id, 2);
  });

  test(`${name}: a 403 is final where step-up is off, or was used up`, async (t) => {
    const more = 'error="insufficient_scope", scope="write", ';
    const insufficient = () => challenge(403, more);
    const authProvider = memoryProvider(refreshable);
    authProvider.saved.client = { client_id: "client-1" };
    for (const options of [{ onInsufficientScope: "throw" }, { maxStepUpRetries: 0 }]) {
      const server = oauthStub({ accepts: insufficient });
      const { transport } = await started(t, Transport, server, { authProvider, ...options });
      const thrown = await transport.send(work(1)).catch((caught) => caught);
      assert.equal(authProvider.saved.redirects.length, 0);
      assert.equal(thrown.reason, "forbidden");
      if (name === "v1") assert.ok(thrown instanceof StreamableHTTPError);
      else if (options.onInsufficientScope === "throw") assert.ok(isInsufficient(thrown));
      else assert.equal(thrown.code, client2.SdkErrorCode.ClientHttpForbidden);
    }
  });
}

const isInsufficient = (thrown) =>
  thrown instanceof client2.InsufficientScopeError && thrown.requiredScope === "write";

test("v2: a step-up that a refresh could not widen asks the user, and the callback's issuer is checked", async (t) => {
  const more = 'error="insufficient_scope", scope="write", ';
  const server = oauthStub({
    accepts: (_given, { body }) => body?.method !== "tools/call" || challenge(403, more),
  });
  const authProvider = memoryProvider(refreshable);
  authProvider.saved.client = { client_id: "client-1" };
  const { transport } = await started(t, OfV2, server, { authProvider });
  await transport.send(initialize);
  await assert.rejects(transport.send(work(1)), client2.UnauthorizedError);
  assert.equal(server.tokensAsked().length, 0, "no refresh");
  assert.equal(authProvider.saved.redirects.length, 1);
  const from = (iss, more) => transport.finishAuth(new URLSearchParams({ iss, ...more }));
  await assert.rejects(from("https://evil.test", { code: "c" }), client2.IssuerMismatchError);
  await assert.rejects(from("https://evil.test", { error: "x" }), client2.IssuerMismatchError);
  await assert.rejects(
    from("https://server.test", { error: "access_denied", error_description: "no" }),
    (thrown) => thrown instanceof client2.OAuthError && thrown.message === "no",
  );
  await assert.rejects(from("https://server.test", {}), client2.UnauthorizedError);
});

test("v2: a provider with DPoP signs what goes to the server", async (t) => {
  const server = oauthStub();
  const authProvider = memoryProvider({ ...refreshable, token_type: "DPoP" });
  const dpop = await client2.DpopSession.create();
  authProvider.dpop = () => dpop;
  const { transport } = await started(t, OfV2, server, { authProvider });
  await transport.send(initialize);
  const [{ headers }] = server.requests;
  assert.ok(headers.has("dpop"), "a proof is there");
  assert.match(headers.get("authorization"), /^DPoP old$/);
});

test("the entry without an SDK refuses an OAuthClientProvider by naming those that drive it", () => {
  assert.throws(
    () => new LandfallTransport(address, { authProvider: memoryProvider() }),
    (thrown) =>
      thrown.name === "ConfigError" && /landfall\/v1/.test(thrown.message) && /v2/.test(thrown.message),
  );
});
