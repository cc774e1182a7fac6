// What is told to somebody who asked for nothing: unknown options, warnings, questions that nobody answers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect, LandfallTransport } from "../../target/modules/entry/index.js";
import { fakeSession, noFetch, turn } from "./support/fake-core.mjs";

const url = "https://server.test/mcp";

/** What goes to the console meanwhile. */
function onConsole(t) {
  const said = [];
  for (const level of ["debug", "log", "info", "warn", "error"])
    t.mock.method(console, level, (...words) => said.push([level, ...words]));
  return said;
}

test("for an unknown option of a session the near name is suggested", async () => {
  for (const [options, hint] of [
    [{ onevent: () => {} }, "did you mean onEvent?"],
    [{ timeout: 5 }, "did you mean timeouts?"],
    [{ onProgress: () => {} }, "did you mean onEvent?"],
    [{ header: {} }, "did you mean headers?"],
    [{ timeouts: { timeout: 5 } }, "did you mean callMs?"],
    [{ timeouts: { deadlinems: 5 } }, "did you mean deadlineMs?"],
    [{ limits: { maxQueue: 5 } }, "did you mean maxQueued?"],
    [{ colour: "red" }, "honours here"],
  ]) {
    const thrown = await connect(url, { fetch: noFetch, ...options }).catch((caught) => caught);
    assert.equal(thrown.name, "ConfigError");
    assert.ok(thrown.message.endsWith(hint), thrown.message);
  }
});

test("for one of a call, too", async () => {
  const { session } = await fakeSession();
  for (const [options, hint] of [
    [{ timeout: 5 }, "did you mean timeouts?"],
    [{ abortSignal: 5 }, "did you mean signal?"],
    [{ onProgress: () => {} }, "for await (const event of call)"],
  ]) {
    const hinted = (thrown) => thrown.name === "ConfigError" && thrown.message.endsWith(hint);
    assert.throws(() => session.callTool("work", {}, options), hinted);
  }
});

test("a name that every object has is as unknown as any", async () => {
  const { connect } = await import("../../target/modules/entry/index.js");
  for (const name of ["constructor", "toString"])
    await assert.rejects(connect("https://server.test/mcp", { [name]: 1 }), {
      name: "ConfigError",
      option: name,
    });
});

test("a transport ignores it, and says so on the console, with the near name", (t) => {
  const said = onConsole(t);
  new LandfallTransport(url, { onEvent: () => {}, colour: "red" });
  assert.deepEqual(said, [
    ["warn", "landfall: the option onEvent is not known, and is ignored; did you mean onevent?"],
    ["warn", "landfall: the option colour is not known, and is ignored"],
  ]);
});

test("a logger has it in place of the console, and with false nobody has", (t) => {
  const said = onConsole(t);
  const lines = [];
  new LandfallTransport(url, { colour: "red", logger: { warn: (line) => lines.push(line) } });
  new LandfallTransport(url, { colour: "red", logger: {} });
  new LandfallTransport(url, { colour: "red", logger: false });
  assert.deepEqual(lines, ["landfall: the option colour is not known, and is ignored"]);
  assert.deepEqual(said, []);
});

test("without a logger the console has warnings and what threw, and no word of what goes well or fails its caller", async (t) => {
  const said = onConsole(t);
  const onEvent = ({ type }) => {
    if (type === "warning") throw new Error("handler");
  };
  const { session, core } = await fakeSession({ onEvent });
  const calls = [session.callTool("work"), session.callTool("work")];
  core.tell([{ out: "event", call: 1, at: 2, type: "warning", code: "malformed_event", message: "odd" }]);
  core.answer(1, { result: {} });
  core.fail(2);
  await Promise.allSettled(calls.map(({ result }) => result));
  await turn();
  assert.deepEqual(said, [
    ["warn", "landfall: warning: odd"],
    ["error", "landfall: onEvent threw: handler"],
  ]);
});

test("a question that nobody can answer is told as refused, and why, once for each method", async () => {
  const events = [];
  const { core } = await fakeSession({ onEvent: (event) => void events.push(event), logger: false });
  for (const [id, method] of Object.entries(["roots/list", "sampling/createMessage", "roots/list"]))
    core.tell([{ out: "request", at: 1, message: { jsonrpc: "2.0", id, method } }]);
  await turn();
  const warnings = events.filter(({ type }) => type === "warning");
  assert.deepEqual(
    warnings.map(({ code, message }) => [code, message]),
    ["roots/list", "sampling/createMessage"].map((method) => [
      "question_refused",
      `the server asked for ${method}, and was refused: there is no option onRequest to answer it`,
    ]),
  );
  const answers = core.called("answer").map((given) => JSON.parse(given.at(-1)));
  assert.deepEqual(
    answers.map(({ id, error }) => [id, error.code]),
    [0, 1, 2].map((id) => [String(id), -32601]),
  );
});
