// A call in a real page of Chromium, by each entry.
import assert from "node:assert/strict";
import { test } from "node:test";
import { workshop } from "./browser.mjs";

const shop = workshop();

/** Runs in the page: one call by an entry of the package, and what came of it. */
async function callBy({ entry, url, args, keyed }) {
  const { connect } = await import(`/npm/entry/${entry}`);
  const options = keyed ? { callKey: ({ requestId }) => String(requestId) } : {};
  const session = await connect(url, { era: "resumable", ...options });
  // In JSON mode, so that its connection is kept and the next request finds it.
  await session.callTool("scripted", { key: `${args.key} before`, post: { json: true } }).result;
  const call = session.callTool("scripted", args);
  const events = [];
  for await (const event of call)
    events.push(event.type === "message" ? event.message.params.data : event.type);
  const { structuredContent } = await call.result;
  await session.close();
  return { events, execution: structuredContent.execution };
}

for (const [entry, modules] of Object.entries({ "index.js": 0, "url.js": 1 })) {
  test(`a call by ${entry} makes landfall in Chromium through a reset, a FIN, a cut event and a polite close`, async (t) => {
    const { page, errors } = await shop.open(t);
    const before = shop.site.asked.length;
    const steps = [
      { retry: 20 },
      ...["rst", "fin"].flatMap((cut) => [{ message: cut }, { wait: 30 }, { cut }, { awaitResume: true }]),
      ...[
        { message: "inside" },
        { wait: 30 },
        { cut: "inside" },
        { message: "broken" },
        { awaitResume: true },
      ],
      ...[{ message: "closed" }, { close: true }, { awaitResume: true }, { message: "last" }],
    ];
    const got = await page.evaluate(callBy, { entry, url: shop.server.url, args: { key: entry, steps } });
    const told = ["rst", "fin", "inside", "broken", "closed", "last"];
    assert.deepEqual(
      got.events.filter((event) => told.includes(event)),
      told,
    );
    const count = (type) => got.events.filter((event) => event === type).length;
    assert.deepEqual([count("disconnected"), count("polling"), count("resumed")], [3, 1, 4]);
    assert.equal(got.events.at(-1), "result");
    assert.equal(shop.server.executions(entry), 1);
    const fetched = shop.site.asked.slice(before).filter((name) => name === "landfall.wasm");
    assert.equal(fetched.length, modules);
    assert.deepEqual(errors, []);
  });
}

test("Chromium repeats a POST whose connection dies before the headers, and callKey lets the server drop it", async (t) => {
  const { page } = await shop.open(t);
  const executions = [];
  for (const keyed of [false, true]) {
    const key = keyed ? "keyed" : "repeated";
    const args = { key, post: { cutBeforeHeaders: true, execute: true, times: 1 } };
    await page.evaluate(callBy, { entry: "index.js", url: shop.server.url, args, keyed });
    const posts = shop.server.log.filter((entry) => entry.key === key);
    assert.equal(posts.length, 2);
    assert.equal(posts[0].id, posts[1].id, "it is one request of landfall's");
    executions.push(shop.server.executions(key));
  }
  assert.deepEqual(executions, [2, 1]);
});
