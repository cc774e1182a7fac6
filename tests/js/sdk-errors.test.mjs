// The errors of a transport, by the checks that the SDKs and their users make.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UnauthorizedError as Unauthorized2,
} from "@modelcontextprotocol/client";
import { StreamableHTTPError } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ToolCallFailedError } from "../../target/modules/api/errors.js";
import { noSdk } from "../../target/modules/sdk/binding.js";
import { sdkV1 } from "../../target/modules/sdk/v1.js";
import { sdkV2 } from "../../target/modules/sdk/v2.js";
import { noFetch, startedTransport } from "./support/fake-core.mjs";

// What `MCPClientError.isInstance` of @ai-sdk/mcp looks at, which exports no such class.
const isAiError = (thrown) => thrown[Symbol.for("vercel.ai.error.AI_MCPClientError")] === true;

const sdks = { none: noSdk, v1: sdkV1, v2: sdkV2 };

/** What `send()` of a request rejects with when the core tells this failure. */
async function thrownBy(sdk, method, why, options = {}) {
  const { transport, core } = await startedTransport(options, { sdk });
  const sent = transport.send({ jsonrpc: "2.0", id: 1, method, params: {} });
  core.fail(1, { method, ...why });
  return sent.catch((caught) => caught);
}

const refused = { reason: "http_error", outcome: "rejected", httpStatus: 404, body: "Not Found" };

test("a refused handshake is an HTTP error of each SDK, with status and text", async () => {
  for (const [name, sdk] of Object.entries(sdks)) {
    for (const method of ["initialize", "server/discover"]) {
      const thrown = await thrownBy(sdk, method, refused);
      assert.ok(thrown instanceof SdkHttpError && thrown instanceof SdkError, name);
      assert.deepEqual([thrown.status, thrown.data.status, thrown.data.text], [404, 404, "Not Found"], name);
      assert.ok(!("statusCode" in thrown), name);
      assert.ok(thrown.cause instanceof ToolCallFailedError, name);
      assert.equal(thrown instanceof StreamableHTTPError, name === "v1");
      // What v2 throws has a code of its own kind.
      assert.equal(thrown.code, name === "v2" ? SdkErrorCode.ClientHttpNotImplemented : 404);
      assert.ok(isAiError(thrown), name);
    }
  }
});

test("the text of a refusal in a message is short and has no controls", async () => {
  const body = `<html>\u0000\n${"x".repeat(500)}`;
  const thrown = await thrownBy(noSdk, "initialize", { ...refused, body });
  assert.ok(thrown.message.length < 260);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that none is there is the point
  assert.doesNotMatch(thrown.message, /[\u0000-\u001f]/);
  assert.equal(thrown.data.text, body);
});

test("a fetch that rejects in the handshake is told by its own class, with why and what is known", async () => {
  class Mine extends Error {}
  for (const error of [
    new TypeError("fetch failed"),
    new Mine("no route"),
    Object.freeze(new Mine("frozen")),
  ]) {
    const { transport, core } = await startedTransport({ fetch: () => Promise.reject(error) });
    const sent = transport.send({ jsonrpc: "2.0", id: 1, method: "initialize", params: {} });
    await core.open(1, { call: 1 }).catch(() => {});
    const diagnostics = { startedAt: 1, endedAt: 9, recent: [], attempts: [], hint: "cors" };
    core.fail(1, { method: "initialize", reason: "network_error", outcome: "not_sent", diagnostics });
    const thrown = await sent.catch((caught) => caught);
    assert.equal(thrown.message, error.message);
    assert.equal(thrown instanceof TypeError, error instanceof TypeError);
    if (error instanceof TypeError) assert.equal(thrown.cause, error);
    else assert.equal(thrown, error);
    if (Object.isFrozen(error)) continue;
    for (const each of [thrown, error])
      assert.deepEqual([each.reason, each.outcome, each.hint], ["network_error", "not_sent", "cors"]);
    assert.deepEqual(Object.keys(error), [], "what is not ours shows no more than before");
  }
});

test("whatever class the handshake's error is of, it and its cause tell why", async () => {
  const whys = [
    { ...refused, body: "no" },
    { reason: "unexpected_content" },
    { reason: "malformed_response" },
    { reason: "connect_timeout", outcome: "not_sent" },
    { reason: "unauthorized", outcome: "rejected", httpStatus: 401, body: "" },
  ];
  for (const sdk of Object.values(sdks)) {
    for (const why of whys) {
      const thrown = await thrownBy(sdk, "initialize", why);
      assert.equal(thrown.reason, why.reason);
      assert.equal(typeof thrown.outcome, "string");
      const { cause = thrown } = thrown;
      assert.deepEqual([cause.reason, cause.outcome], [thrown.reason, thrown.outcome]);
    }
  }
});

test("an answer to the handshake that is none is an unusable reply", async () => {
  for (const [name, sdk] of Object.entries(sdks)) {
    const content = await thrownBy(sdk, "server/discover", { reason: "unexpected_content" });
    const [Expected, code] =
      name === "v1" ? [StreamableHTTPError, -1] : [SdkError, SdkErrorCode.ClientHttpUnexpectedContent];
    assert.ok(content instanceof Expected, name);
    assert.equal(content.code, code);
    const malformed = await thrownBy(sdk, "server/discover", { reason: "malformed_response" });
    assert.equal(malformed.name, "SyntaxError");
  }
});

test("a handshake that an error answered with a status of refusal rejects by that status", async () => {
  const { transport, core, messages } = await startedTransport();
  const discover = transport.send({ jsonrpc: "2.0", id: "p", method: "server/discover", params: {} });
  const response = { jsonrpc: "2.0", id: null, error: { code: -32000, message: "Bad Request" } };
  core.answer(1, response, { httpStatus: 400 });
  const thrown = await discover.catch((caught) => caught);
  assert.ok(thrown instanceof SdkHttpError);
  assert.equal(thrown.status, 400);
  assert.equal(JSON.parse(thrown.data.text).error.message, "Bad Request");
  assert.deepEqual(messages, []);
  const call = transport.send({ jsonrpc: "2.0", id: 2, method: "tools/call", params: {} });
  core.answer(2, response, { httpStatus: 400 });
  await call;
  assert.equal(messages[0].error.code, -32000, "later it is an answer");
});

test("a refused call is a ToolCallFailedError with the marks of each SDK, and a code only where it was not executed", async () => {
  for (const [name, sdk] of Object.entries(sdks)) {
    for (const [reason, status] of Object.entries({ http_error: 500, forbidden: 403, session_lost: 404 })) {
      for (const outcome of ["rejected", "unknown"]) {
        const thrown = await thrownBy(sdk, "tools/call", { reason, outcome, httpStatus: status, body: "no" });
        const what = `${name} ${reason} ${outcome}`;
        assert.ok(thrown instanceof ToolCallFailedError && thrown instanceof Error, what);
        assert.ok(thrown instanceof SdkHttpError, what);
        assert.equal(thrown instanceof StreamableHTTPError, name === "v1", what);
        assert.ok(isAiError(thrown), what);
        assert.deepEqual(
          [thrown.name, thrown.reason, thrown.outcome],
          ["ToolCallFailedError", reason, outcome],
        );
        assert.equal(thrown.event.type, "tool_call_failed");
        assert.equal(thrown.status, status, what);
        assert.equal(thrown.code, outcome === "rejected" ? status : undefined, what);
        assert.ok(!("statusCode" in thrown), what);
        assert.doesNotMatch(thrown.message, /401|404|405|Unauthorized|Streamable/, what);
      }
    }
  }
});

test("any other failed call has but the mark without which @ai-sdk/mcp 2 would wrap it", async () => {
  for (const sdk of Object.values(sdks)) {
    const thrown = await thrownBy(sdk, "tools/call", { reason: "stream_lost", httpStatus: 503 });
    assert.ok(thrown instanceof ToolCallFailedError);
    assert.ok(!(thrown instanceof SdkError) && !(thrown instanceof StreamableHTTPError));
    assert.ok(isAiError(thrown) && !("code" in thrown) && !("status" in thrown));
    const early = await thrownBy(sdk, "server/discover", { reason: "connect_timeout" });
    assert.ok(early instanceof ToolCallFailedError);
    assert.ok(!isAiError(early), "in the handshake it would mean a legacy server");
  }
});

test("a 401 without a provider is an HTTP error in the handshake, and a marked failure later", async () => {
  const why = { reason: "unauthorized", outcome: "rejected", httpStatus: 401, body: "" };
  for (const sdk of Object.values(sdks)) {
    const early = await thrownBy(sdk, "initialize", why);
    assert.ok(early instanceof SdkHttpError && early.status === 401);
    const late = await thrownBy(sdk, "tools/call", why);
    assert.ok(late instanceof ToolCallFailedError && late instanceof SdkHttpError && late.code === 401);
  }
});

test("a 401 after a renewal is the SDK's HTTP error and no UnauthorizedError, as an outcome of authorization", async () => {
  const why = { reason: "unauthorized", outcome: "rejected", httpStatus: 401, body: "" };
  for (const [name, sdk] of Object.entries(sdks)) {
    for (const method of ["server/discover", "tools/call"]) {
      const thrown = await thrownBy(sdk, method, why, { authProvider: { token: () => "t" } });
      assert.ok(thrown instanceof SdkHttpError && !(thrown instanceof Unauthorized2), name);
      assert.equal(thrown instanceof StreamableHTTPError, name === "v1");
      assert.equal(thrown.code, name === "v2" ? SdkErrorCode.ClientHttpAuthentication : 401);
      assert.match(
        thrown.message,
        /^(Streamable HTTP error: )?Server returned 401 after (re-|successful )authentication$/,
      );
      assert.equal(thrown[Symbol.for("mcp.authSeamEscape")], true);
      assert.deepEqual([thrown.status ?? thrown.code, thrown.reason], [401, "unauthorized"]);
      assert.ok(thrown.cause instanceof ToolCallFailedError);
    }
  }
});

test("errors of two copies of landfall know each other", async () => {
  const copy = await import("../../target/modules/api/errors.js?copy");
  const thrown = await thrownBy(noSdk, "tools/call", { reason: "stream_lost" });
  assert.ok(thrown instanceof copy.ToolCallFailedError);
  assert.ok(!(new Error("x") instanceof ToolCallFailedError));
  class Own extends ToolCallFailedError {}
  assert.ok(!(thrown instanceof Own), "a class made of it asks for itself");
  assert.ok(!(null instanceof ToolCallFailedError) && typeof noFetch === "function");
});
