// Requests of the server's, and the handlers that answer them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ServerError } from "../../target/modules/api/errors.js";
import { fakeSession, turn } from "./support/fake-core.mjs";

const request = { jsonrpc: "2.0", id: 4, method: "roots/list", params: { a: 1 } };
const ask = (core, message = request) => core.tell([{ out: "request", at: 3, message: 0 }], [message]);
const answers = (core) => core.called("answer").map(([, , body]) => JSON.parse(body));

test("onRequest answers a request of the server's", async () => {
  const seen = [];
  const onRequest = async ({ method, params, signal }) => {
    seen.push([method, params, signal.aborted]);
    return { roots: [] };
  };
  const { core } = await fakeSession({ onRequest });
  ask(core);
  await turn();
  assert.deepEqual(seen, [["roots/list", { a: 1 }, false]]);
  assert.deepEqual(answers(core), [{ jsonrpc: "2.0", id: 4, result: { roots: [] } }]);
});

test("a handler that gives nothing answers with an empty result", async () => {
  const { core } = await fakeSession({ onRequest: () => undefined });
  ask(core);
  await turn();
  assert.deepEqual(answers(core), [{ jsonrpc: "2.0", id: 4, result: {} }]);
});

test("a handler that throws, rejects or gives what is no JSON answers with -32603, and not with its words", async () => {
  let answer;
  const { core } = await fakeSession({ onRequest: () => answer() });
  const cases = [
    () => {
      throw new Error("thrown");
    },
    () => Promise.reject(new Error("rejected")),
    () => ({ n: 1n }),
    () => () => {},
    () => Symbol("s"),
    () => ({ toJSON: () => undefined }),
  ];
  for (answer of cases) {
    ask(core);
    await turn();
  }
  const errors = answers(core).map(({ id, error }) => [id, error.code, error.message]);
  assert.deepEqual(errors, Array(cases.length).fill([4, -32603, "handler failed"]));
});

test("a ServerError that a handler throws is the server's answer, with its code and data", async () => {
  const errors = [
    { code: -1, message: "the user said no", data: { why: "no" } },
    { code: -32000, message: "nobody is there" },
  ];
  for (const error of errors) {
    const { core } = await fakeSession({ onRequest: () => Promise.reject(new ServerError(error)) });
    ask(core);
    await turn();
    assert.deepEqual(answers(core), [{ jsonrpc: "2.0", id: 4, error }]);
  }
  const onRequest = () => Promise.reject(new ServerError({ code: 1, message: "no JSON", data: 1n }));
  const { core } = await fakeSession({ onRequest });
  ask(core);
  await turn();
  assert.equal(answers(core)[0].error.code, -32603);
});

test("a handler is told which call it is asked in", async () => {
  const seen = [];
  const onRequest = ({ requestId }) => {
    seen.push(requestId);
    return {};
  };
  const { session, core } = await fakeSession({ onRequest });
  const call = session.callTool("work");
  const [, , spec] = core.called("call")[0];
  assert.equal(spec.method, "tools/call");
  await turn();
  core.tell([{ out: "request", at: 3, call: 1, message: 0 }], [request]);
  core.tell([{ out: "request", at: 3, call: 77, message: 0 }], [{ ...request, id: 5 }]);
  ask(core, { ...request, id: 6 });
  await turn();
  assert.deepEqual(seen, [call.id, undefined, undefined]);
});

test("without a handler the server is told that there is no such method", async () => {
  const { core } = await fakeSession();
  ask(core);
  await turn();
  assert.deepEqual(answers(core), [
    { jsonrpc: "2.0", id: 4, error: { code: -32601, message: "Method not found" } },
  ]);
});

test("the server's cancellation aborts the handler of that id alone, which is not answered then", async () => {
  const signals = new Map();
  const release = [];
  const onRequest = ({ params, signal }) => {
    signals.set(params.name, signal);
    return new Promise((resolve) => release.push(() => resolve({})));
  };
  const { core } = await fakeSession({ onRequest });
  ask(core, { ...request, id: 4, params: { name: "number" } });
  ask(core, { ...request, id: "4", params: { name: "string" } });
  await turn();
  core.tell([{ out: "request_cancelled", id: 4 }]);
  await turn();
  assert.equal(signals.get("number").aborted, true);
  assert.equal(signals.get("string").aborted, false);
  for (const each of release) each();
  await turn();
  assert.deepEqual(answers(core), [{ jsonrpc: "2.0", id: "4", result: {} }]);
});

test("the end of the session aborts handlers, and what they give goes nowhere", async () => {
  let release;
  let signal;
  const onRequest = (given) => {
    signal = given.signal;
    return new Promise((resolve) => {
      release = resolve;
    });
  };
  const { session, core } = await fakeSession({ onRequest });
  ask(core);
  await turn();
  await session.close();
  assert.equal(signal.aborted, true);
  release({});
  await turn();
  assert.deepEqual(answers(core), []);
});
