// Many requests in one isolate of workerd, which lets none of them touch what another one opened.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { steady } from "../support/steady.mjs";
import { WORKERS } from "./cases.mjs";
import { workshop } from "./workshop.mjs";

const shop = workshop();

for (const { how, skip, serve } of WORKERS) {
  describe(`in one isolate, by ${how}`, { skip }, () => {
    const isolate = { name: (key) => `${how} ${key}` };
    before(async () => {
      isolate.worker = await serve(await shop.package.project(), "isolate");
    });
    after(() => isolate.worker?.stop());
    isolate.ask = async (path, key, more) => {
      const query = new URLSearchParams({ url: shop.server.url, key: isolate.name(key), ...more });
      const signal = AbortSignal.timeout(60_000);
      const response = await fetch(`${isolate.worker.url}/${path}?${query}`, { signal });
      const text = await response.text();
      assert.equal(response.status, 200, text);
      return JSON.parse(text);
    };

    test("50 requests side by side are each cut and resumed, ten of them after a trap", () =>
      sideBySide(isolate));
    // The clocks are real, and the server's headers take a while on purpose.
    test("fewer than six of a request's calls wait for headers at once, however many bodies are open", () =>
      steady("calls that wait for headers", () => waitingForHeaders(isolate)));
    test("a session or transport of one request fails in another by an error of landfall's own, at once and unsent", () =>
      usedElsewhere(isolate));
    test("a session of one request goes on in another by its state", () => goneOn(isolate));
  });
}

/** How many of these spans there are at once, at most. */
const overlap = (spans) =>
  Math.max(...spans.map(([at]) => spans.filter(([from, to]) => from <= at && at < to).length));

async function sideBySide({ ask, name, worker }) {
  const keys = Array.from({ length: 50 }, (_, n) => `side by side ${n}`);
  const traps = (n) => n % 5 === 0;
  const answers = await Promise.all(keys.map((key, n) => ask(traps(n) ? "trap" : "carry", key)));
  for (const [n, { did }] of answers.entries()) {
    shop.assertCarried(name(keys[n]), did);
    assert.equal(did.trapped ?? false, traps(n));
  }
  assert.equal(Math.max(...answers.map(({ requests }) => requests)), 50, "one isolate saw them all");
  const posts = shop.server.log.filter(
    ({ method, key }) => method === "POST" && keys.map(name).includes(key),
  );
  assert.ok(overlap(posts.map(({ at, closedAt }) => [at, closedAt])) > 5, "they were under way side by side");
  // What workerd says where one request touches another one's, or waits for what can't come.
  assert.doesNotMatch(worker.output(), /different request|had hung|never generate|uncaught/i);
}

async function waitingForHeaders({ ask, name }) {
  const before = shop.server.log.length;
  const { did } = await ask("many", "many");
  assert.deepEqual(did, [...Array(16).fill("answered"), "deadline_exceeded"]);
  const calls = shop.server.log.slice(before).filter(({ key }) => key?.startsWith(name("many ")));
  assert.equal(calls.length, 16, "the one that could not wait was never sent");
  const headersMs = 300;
  const waiting = overlap(calls.map(({ at }) => [at, at + headersMs]));
  assert.ok(waiting >= 2 && waiting <= 5, `${waiting} waited for headers`);
  const open = overlap(calls.map(({ at, closedAt }) => [at + headersMs, closedAt]));
  assert.ok(open > 5, `${open} bodies were open`);
}

async function usedElsewhere({ ask, name }) {
  const { did: text } = await ask("keep", "kept");
  assert.equal(text, `${name("kept")} done`);
  const sent = shop.server.log.length;
  const { did: told } = await ask("useKept", "used");
  assert.equal(told.length, 6);
  for (const { message, ...error } of told) {
    const expected = { name: "ToolCallFailedError", reason: "closed", outcome: "not_sent", retrySafe: true };
    assert.deepEqual(error, expected);
    assert.match(message, /belongs to another request.*open one in each request.*Durable Object/);
  }
  assert.equal(shop.server.log.length, sent, "nothing was sent");
}

async function goneOn({ ask, name }) {
  await ask("keep", "left");
  const { did: state } = await ask("stateOfKept", "");
  const sent = shop.server.log.length;
  const { did } = await ask("goOn", "gone on", { state: JSON.stringify(state) });
  assert.deepEqual(did, { text: `${name("gone on")} done`, sessionId: state.sessionId });
  assert.deepEqual(
    shop.server.log.slice(sent).map(({ rpc, session }) => [rpc, session]),
    [["tools/call", state.sessionId]],
  );
}
