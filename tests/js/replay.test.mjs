// What a caller decides of one call: replay, callKey, onGap, tokens.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigError } from "../../target/modules/api/errors.js";
import { fakeSession, turn } from "./support/fake-core.mjs";

const specs = (core) => core.called("call").map(([, , spec]) => spec);
const metas = (core) => specs(core).map(({ meta }) => JSON.parse(meta));

test("replay by name, as a list of tools, or as a function reaches the core as what it can use", async () => {
  const named = await fakeSession({ replay: "never" });
  assert.equal(named.core.config.replay, "never");
  named.session.callTool("work");
  assert.equal(specs(named.core)[0].replay, undefined);

  const listed = await fakeSession({ replay: { read: true, write: false } });
  assert.equal(listed.core.config.replay, undefined);
  for (const tool of ["read", "write", "other", "toString"]) listed.session.callTool(tool);
  listed.session.request("read");
  assert.deepEqual(
    specs(listed.core).map(({ replay }) => replay),
    [true, false, undefined, undefined, undefined],
  );

  const asked = [];
  const decided = await fakeSession({
    replay: (call) => {
      asked.push(call);
      return call.tool === "read";
    },
  });
  decided.session.callTool("read", { n: 1 });
  decided.session.request("prompts/get", { name: "p" });
  assert.deepEqual(
    specs(decided.core).map(({ replay }) => replay),
    [true, false],
  );
  assert.deepEqual(asked, [
    { method: "tools/call", tool: "read", arguments: { n: 1 }, requestId: "fake-1" },
    { method: "prompts/get", requestId: "fake-2" },
  ]);
});

test("a caller who says that a call is not idempotent is believed above all that says otherwise", async () => {
  for (const replay of ["hints", { write: true }, () => true]) {
    const { session, core } = await fakeSession({ replay });
    session.callTool("write", {}, { idempotent: false });
    assert.equal(specs(core)[0].replay, false);
  }
});

test("callKey puts one value into _meta, beside the caller's own, which stay", async () => {
  const { session, core } = await fakeSession({ callKey: ({ requestId, tool }) => `${tool}:${requestId}` });
  session.callTool("work");
  session.request("tools/call", { name: "other", _meta: { trace: "t" } });
  session.request("tools/call", { name: "other", _meta: { "landfall/call-key": "mine" } });
  assert.deepEqual(metas(core), [
    { "landfall/call-key": "work:fake-1" },
    { "landfall/call-key": "other:fake-2", trace: "t" },
    { "landfall/call-key": "mine" },
  ]);
});

test("to a relay each call has a key of its own, unless the caller gives one", async () => {
  const { session, core } = await fakeSession({ relay: true });
  session.callTool("work");
  session.callTool("work");
  session.callTool("work", {}, { _meta: { "landfall/call-key": "mine" } });
  const keys = metas(core).map((meta) => meta["landfall/call-key"]);
  for (const key of keys.slice(0, 2)) assert.match(key, /^[0-9a-z]{12,}$/);
  assert.notEqual(keys[0], keys[1]);
  assert.equal(keys[2], "mine");
  assert.deepEqual(
    specs(core).map(({ keyed }) => keyed),
    [true, true, true],
  );
  const named = await fakeSession({ relay: true, callKey: () => "k" });
  named.session.callTool("work");
  assert.deepEqual(metas(named.core), [{ "landfall/call-key": "k" }]);
});

test("without callKey and replay nobody asks the core for the next id", async () => {
  const { session, core } = await fakeSession();
  session.callTool("work");
  assert.deepEqual(core.called("next_request_id"), []);
  assert.deepEqual(metas(core), [{}]);
});

test("replay and callKey that throw or give something else are a ConfigError, and no call is made", async () => {
  const thrower = () => {
    throw new Error("no key");
  };
  const cases = [
    [{ replay: () => "yes" }, "replay", /true or false/],
    [{ replay: thrower }, "replay", /no key/],
    [{ callKey: () => 5 }, "callKey", /string/],
    [{ callKey: async () => "k" }, "callKey", /string/],
    [{ callKey: thrower }, "callKey", /no key/],
  ];
  for (const [options, option, message] of cases) {
    const { session, core } = await fakeSession(options);
    assert.throws(
      () => session.callTool("work"),
      (thrown) => thrown instanceof ConfigError && thrown.option === option && message.test(thrown.message),
    );
    assert.deepEqual(core.called("call"), []);
    await assert.rejects(session.listTools(), { name: "ConfigError", option });
  }
});

test("what is known of a call's safety is in the failures that no core tells of", async () => {
  const trapped = async (options, callOptions) => {
    const { session, core } = await fakeSession(options);
    const call = session.callTool("work", {}, callOptions);
    core.on.poll = () => {
      throw new Error("trap");
    };
    core.tell([]);
    return (await call.result.catch((caught) => caught)).retrySafe;
  };
  assert.equal(await trapped({}, {}), false);
  assert.equal(await trapped({}, { idempotent: true }), true);
  assert.equal(await trapped({ replay: { work: true } }, {}), true);
  assert.equal(await trapped({ replay: () => true }, {}), true);
  assert.equal(await trapped({ replay: "never" }, { idempotent: true }), false);
});

test("onGap, a cursor and the wish for cursors go with the call; the session's onGap with the session", async () => {
  const { session, core } = await fakeSession({ onGap: "reissue" });
  assert.equal(core.config.onGap, "reissue");
  session.callTool("work", {}, { onGap: "fail", resumptionToken: "k1/7", onresumptiontoken() {} });
  session.callTool("work");
  const [first, second] = specs(core);
  assert.deepEqual([first.onGap, first.resumptionToken, first.tokens], ["fail", "k1/7", true]);
  assert.deepEqual([second.onGap, second.resumptionToken, second.tokens], [undefined, undefined, undefined]);
});

test("each token reaches its call's callback, in order with its events, and none after the outcome", async () => {
  const seen = [];
  const { session, core } = await fakeSession({ onEvent: (event) => void seen.push(event.type) });
  session.callTool("one", {}, { onresumptiontoken: (token) => seen.push(`one ${token}`) });
  const two = session.callTool("two", {}, { onresumptiontoken: (token) => seen.push(`two ${token}`) });
  session.callTool("three");
  core.tell([
    { out: "event", call: 1, at: 1, type: "open", status: 200 },
    { out: "token", call: 1, token: "a" },
    { out: "event", call: 1, at: 1, type: "polling", waitMs: 5 },
    { out: "token", call: 2, token: "b" },
    { out: "token", call: 3, token: "c" },
  ]);
  core.answer(2, { result: 1 });
  core.tell([{ out: "token", call: 2, token: "late" }]);
  await two.result;
  await turn();
  assert.deepEqual(seen, ["open", "one a", "polling", "two b", "result"]);
});

test("a callback for tokens that throws harms nothing", async () => {
  const lines = [];
  const { session, core } = await fakeSession({ logger: { error: (line) => lines.push(line) } });
  const call = session.callTool(
    "work",
    {},
    {
      onresumptiontoken: () => {
        throw new Error("not mine");
      },
    },
  );
  core.tell([{ out: "token", call: 1, token: "a" }]);
  core.answer(1, { result: 1 });
  assert.equal(await call.result, 1);
  assert.match(lines[0], /onresumptiontoken threw: not mine/);
});

test("listTools is several requests: it takes no cursor", async () => {
  const { session } = await fakeSession();
  for (const option of ["resumptionToken", "onresumptiontoken", "onGap"]) {
    await assert.rejects(session.listTools({ [option]: "fail" }), { name: "ConfigError", option });
  }
});
