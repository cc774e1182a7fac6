// A refused handshake rejects as each SDK expects it of its own transport: clients decide by these errors whether to
// fall back to another era, ask for credentials, or give up.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SdkError, SdkErrorCode, SdkHttpError } from "@modelcontextprotocol/client";
import { StreamableHTTPError } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { MCPClientError } from "ai-mcp-2";
import { aiSdk1, aiSdk2, sdkV1, sdkV2Auto, sdkV2Legacy, sdkV2Modern } from "./clients/all.mjs";
import { Stage } from "./stage.mjs";
import { jsonBody, plainText, serveStub } from "./stub.mjs";
import { misleading } from "./texts.mjs";
import { createTransport } from "./transports.mjs";

const DISCOVER = "server/discover";
const MODERN = "2026-07-28";

/** Connects `client` to a server that answers as told; what came of it, and what was asked of the server. */
async function connect(client, answer) {
  const server = await serveStub(answer);
  try {
    const session = await client.open(createTransport(client, server.url));
    const version = session.client.getNegotiatedProtocolVersion?.();
    await session.close();
    return { version, posted: server.posted(), requests: server.requests };
  } catch (error) {
    return { error, posted: server.posted(), requests: server.requests };
  } finally {
    await server.close();
  }
}

const refuseAll = (status) => () => plainText(status, "no such luck");
const rpcError = (id, code, data) => ({ jsonrpc: "2.0", id, error: { code, message: "no", data } });
/** Answers `server/discover` in its own way, and everything else as a server of 2025 does. */
const probed = (answer) => (request) =>
  request.body?.method === DISCOVER ? answer(request.body) : undefined;

describe("initialize is refused", () => {
  for (const status of [400, 401, 403, 404, 405, 500, 503]) {
    test(`${status}, SDK v1: the error is a StreamableHTTPError with that code`, async () => {
      const { error } = await connect(sdkV1, refuseAll(status));
      assert.ok(error instanceof StreamableHTTPError, String(error));
      assert.equal(error.code, status);
    });
    test(`${status}, SDK v2: the error is an SdkHttpError with that status and the text of the body`, async () => {
      const { error, posted } = await connect(sdkV2Legacy, refuseAll(status));
      assert.ok(error instanceof SdkHttpError, String(error));
      assert.equal(error.status, status);
      assert.equal(error.data.text, "no such luck");
      assert.deepEqual(posted, ["initialize"]);
    });
    test(`${status}, AI SDK: the error is an MCPClientError`, async () => {
      const { error } = await connect(aiSdk1, refuseAll(status));
      assert.ok(MCPClientError.isInstance(error), String(error));
    });
  }
  for (const client of [sdkV1, sdkV2Legacy, aiSdk1]) {
    test(`${client.name}: no text names a status that was not met`, async () => {
      for (const status of [400, 401, 403, 404, 405, 500]) {
        const { error } = await connect(client, refuseAll(status));
        assert.deepEqual(misleading(error.message, status), []);
      }
    });
    test(`${client.name}: nobody there is a TypeError that tells why, with the rejection of fetch as its cause`, async () => {
      const server = await serveStub();
      await server.close();
      const opening = client.open(createTransport(client, server.url));
      await assert.rejects(opening, (error) => {
        const thrown = error instanceof TypeError ? error : error.cause;
        assert.ok(thrown instanceof TypeError && thrown.cause instanceof TypeError);
        assert.equal(thrown.message, thrown.cause.message);
        assert.equal(thrown.cause.cause?.code, "ECONNREFUSED");
        for (const each of [thrown, thrown.cause])
          assert.deepEqual([each.reason, each.outcome], ["network_error", "not_sent"]);
        return true;
      });
    });
  }
});

describe("the probe of SDK v2 finds a server of 2025", () => {
  const answers = {
    400: () => plainText(400),
    404: () => plainText(404),
    405: () => plainText(405),
    406: () => plainText(406),
    422: () => plainText(422),
    "400 with a JSON-RPC error": ({ id }) => jsonBody(400, rpcError(id, -32000)),
    "400 with a JSON-RPC error for nobody": () => jsonBody(400, rpcError(null, -32000)),
    "404 with `Method not found`": ({ id }) => jsonBody(404, rpcError(id, -32601)),
    "200 with a JSON-RPC error": ({ id }) => rpcError(id, -32601),
    "versions of 2025 alone": ({ id }) => jsonBody(400, rpcError(id, -32022, { supported: ["2025-11-25"] })),
  };
  for (const [name, answer] of Object.entries(answers)) {
    test(name, async () => {
      const { error, posted, requests, version } = await connect(sdkV2Auto, probed(answer));
      assert.equal(error, undefined);
      assert.deepEqual(posted.slice(0, 2), [DISCOVER, "initialize"]);
      assert.equal(version, "2025-11-25");
      const { headers } = requests.find(({ body }) => body?.method === "initialize");
      assert.deepEqual(
        Object.keys(headers).filter((header) => header.startsWith("mcp-")),
        [],
      );
    });
  }
});

const DISCOVERED = {
  resultType: "complete",
  supportedVersions: [MODERN],
  capabilities: { tools: {} },
  ttlMs: 0,
  cacheScope: "private",
};
const VERDICTS = {
  401: { answer: () => plainText(401), code: SdkErrorCode.ClientHttpAuthentication, status: 401 },
  403: { answer: () => plainText(403), code: SdkErrorCode.ClientHttpForbidden, status: 403 },
  500: { answer: () => plainText(500), code: SdkErrorCode.EraNegotiationFailed, status: 500 },
  503: { answer: () => plainText(503), code: SdkErrorCode.EraNegotiationFailed, status: 503 },
  "500 with a JSON-RPC error": {
    answer: ({ id }) => jsonBody(500, rpcError(id, -32603)),
    code: SdkErrorCode.EraNegotiationFailed,
    status: 500,
  },
  "a page instead of an answer": {
    answer: () => new Response("<p>Hello</p>", { headers: { "content-type": "text/html" } }),
    code: SdkErrorCode.EraNegotiationFailed,
  },
  "JSON that is none": {
    answer: () => new Response('{"jsonrpc":', { headers: { "content-type": "application/json" } }),
    code: SdkErrorCode.EraNegotiationFailed,
  },
};

describe("the probe of SDK v2 finds no server of 2025", () => {
  for (const [name, { answer, code, status }] of Object.entries(VERDICTS)) {
    test(name, async () => {
      const { error, posted } = await connect(sdkV2Auto, probed(answer));
      assert.ok(error instanceof SdkError, String(error));
      assert.equal(error.code, code);
      assert.equal(error.status, status);
      assert.deepEqual(posted, [DISCOVER]);
      assert.deepEqual(misleading(error.message, status), []);
    });
  }

  test("an answer is an answer", async () => {
    const modern = ({ body }) =>
      body?.method === DISCOVER ? { jsonrpc: "2.0", id: body.id, result: DISCOVERED } : plainText(405);
    const { error, version, posted } = await connect(sdkV2Auto, modern);
    assert.equal(error, undefined);
    assert.equal(version, MODERN);
    assert.deepEqual(posted, [DISCOVER]);
  });

  test("another version of this era is asked for again", async () => {
    let asked = 0;
    const answer = ({ id }) => {
      asked += 1;
      if (asked > 1) return { jsonrpc: "2.0", id, result: DISCOVERED };
      return jsonBody(400, rpcError(id, -32022, { supported: [MODERN] }));
    };
    const { error, posted } = await connect(sdkV2Auto, probed(answer));
    assert.equal(error, undefined);
    assert.deepEqual(posted, [DISCOVER, DISCOVER]);
  });

  test("nobody there is a failed negotiation that tells why", async () => {
    const server = await serveStub();
    await server.close();
    await assert.rejects(sdkV2Auto.open(createTransport(sdkV2Auto, server.url)), (error) => {
      assert.equal(error.code, SdkErrorCode.EraNegotiationFailed);
      assert.ok(error.cause instanceof TypeError);
      return true;
    });
  });

  test("no answer at all is the client's own timeout", async (t) => {
    const server = new Stage(t).keep(await serveStub(() => "hang"));
    const opening = sdkV2Auto.open(createTransport(sdkV2Auto, server.url), { connectMs: 500 });
    await assert.rejects(opening, { code: SdkErrorCode.RequestTimeout });
    assert.deepEqual(server.posted(), [DISCOVER]);
  });

  test("a pinned version is not given up for `initialize`", async () => {
    const { error, posted } = await connect(
      sdkV2Modern,
      probed(() => plainText(404)),
    );
    assert.equal(error.code, SdkErrorCode.EraNegotiationFailed);
    assert.deepEqual(posted, [DISCOVER]);
  });
});

describe("the probe of the AI SDK", () => {
  for (const status of [400, 401, 404, 405, 500]) {
    test(`${status} is followed by initialize`, async () => {
      const { error, posted } = await connect(
        aiSdk2,
        probed(() => plainText(status)),
      );
      assert.equal(error, undefined);
      assert.deepEqual(posted.slice(0, 2), [DISCOVER, "initialize"]);
    });
  }

  test("a refused initialize after it is an MCPClientError", async () => {
    const { error, posted } = await connect(aiSdk2, refuseAll(401));
    assert.ok(MCPClientError.isInstance(error), String(error));
    assert.deepEqual(posted, [DISCOVER, "initialize"]);
  });

  test("a rejection of fetch is no sign of an era", async () => {
    const server = await serveStub();
    await server.close();
    const opening = aiSdk2.open(createTransport(aiSdk2, server.url));
    await assert.rejects(opening, { name: "TypeError" });
  });
});
