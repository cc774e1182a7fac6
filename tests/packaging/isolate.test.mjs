// Many requests in one isolate of workerd, which lets none of them touch what another one opened.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { WORKERS } from "./cases.mjs";
import { workshop } from "./workshop.mjs";

const shop = workshop();

for (const { how, skip, serve } of WORKERS)
  describe(`in one isolate, by ${how}`, { skip }, () => {
    let worker;
    before(async () => {
      worker = await serve(await shop.package.project(), "isolate");
    });
    after(() => worker?.stop());

    async function ask(path, { key, ...query }) {
      const params = new URLSearchParams({ url: shop.server.url, key: `${how} ${key}`, ...query });
      const response = await fetch(`${worker.url}/${path}?${params}`, {
        signal: AbortSignal.timeout(60_000),
      });
      const text = await response.text();
      assert.equal(response.status, 200, text);
      return JSON.parse(text);
    }

    test("50 requests side by side are each cut and resumed, ten of them after a trap", async () => {
      const keys = Array.from({ length: 50 }, (_, n) => `side by side ${n}`);
      const answers = await Promise.all(keys.map((key, n) => ask(n % 5 === 0 ? "trap" : "carry", { key })));
      for (const [n, { did }] of answers.entries()) {
        shop.assertCarried(`${how} ${keys[n]}`, did);
        assert.equal(did.trapped ?? false, n % 5 === 0);
      }
      assert.equal(Math.max(...answers.map(({ requests }) => requests)), 50, "one isolate saw them all");
      const opens = shop.server.log.filter(
        ({ method, key }) => method === "POST" && keys.some((each) => key === `${how} ${each}`),
      );
      const first = Math.min(...opens.map(({ closedAt }) => closedAt));
      assert.ok(opens.filter(({ at }) => at < first).length > 5, "they were under way side by side");
      // What workerd says where one request touches another one's, or waits for what can't come.
      assert.doesNotMatch(worker.output(), /different request|had hung|never generate|uncaught/i);
    });

    test("a session of one request fails in another by an error of landfall's own, at once and unsent", async () => {
      const { did: text } = await ask("keep", { key: "kept" });
      assert.equal(text, `${how} kept done`);
      const sent = shop.server.log.length;
      const { did } = await ask("useKept", { key: "used" });
      const expected = {
        name: "ToolCallFailedError",
        reason: "closed",
        outcome: "not_sent",
        retrySafe: true,
      };
      for (const { message, ...told } of did.told) {
        assert.deepEqual(told, expected);
        assert.match(message, /belongs to another request.*open one in each request.*Durable Object/);
      }
      assert.equal(did.told.length, 4);
      assert.equal(shop.server.log.length, sent, "nothing was sent");
      assert.equal(shop.server.executions(`${how} used`), 0);

      const { did: went } = await ask("goOn", { key: "went on", state: JSON.stringify(did.state) });
      assert.deepEqual(went, { text: `${how} went on done`, sessionId: did.state.sessionId });
      const log = shop.server.log.slice(sent);
      assert.deepEqual(
        log.map(({ rpc, session }) => [rpc, session]),
        [["tools/call", did.state.sessionId]],
      );
    });
  });
