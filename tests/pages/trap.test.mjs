// A real trap in a real page: the memory of the instance is overwritten under it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { workshop } from "./browser.mjs";

const shop = workshop();

/** Runs in the page: three calls wait when their instance is ruined; then one more. */
async function trapUnder({ entry, url }) {
  const { connect } = await import(`/npm/entry/${entry}`);
  const session = await connect(url, { era: "resumable" });
  const call = (key, steps) => session.callTool("scripted", { key: `${entry} ${key}`, steps });
  const steps = [{ message: "open" }, { wait: 200 }, { message: "too late" }, { wait: 60_000 }];
  const pending = ["one", "two", "three"].map((key) => call(key, steps));
  for (const each of pending) {
    for await (const { type } of each) if (type === "message") break;
  }
  const before = globalThis.instances.length;
  const exported = Object.values(globalThis.instances.at(-1).exports);
  new Uint8Array(exported.find((each) => each instanceof WebAssembly.Memory).buffer).fill(0xff);
  const results = pending.map(({ result }) =>
    result.then(
      () => "answered",
      (error) => error,
    ),
  );
  const ended = (await Promise.all(results)).map(({ name, reason, outcome }) => [name, reason, outcome]);
  const next = await call("next", [{ message: "hi" }]).result;
  const made = globalThis.instances.length - before;
  globalThis.session = session;
  return { ended, text: next.content[0].text, made };
}

/** Runs in the page. What the lost instance left behind, timers above all, has the time to go wrong. */
async function closeSession() {
  await globalThis.session.close();
  await new Promise((resolve) => setTimeout(resolve, 300));
}

async function until(what, holds) {
  for (const end = Date.now() + 10_000; Date.now() < end; await sleep(10)) if (holds()) return;
  assert.fail(`waited 10 s until ${what}`);
}

for (const entry of ["index.js", "url.js"]) {
  test(`a trap of the module in a page ends every pending call, and the next one by ${entry} makes landfall`, async (t) => {
    const { page, errors } = await shop.open(t);
    const opened = shop.server.log.length;
    const { ended, text, made } = await page.evaluate(trapUnder, { entry, url: shop.server.url });
    const lost = ["ToolCallFailedError", "internal_error", "unknown"];
    assert.deepEqual(ended, [lost, lost, lost]);
    assert.equal(text, `${entry} next done`);
    assert.equal(made, 1, "a fresh instance");
    const posts = shop.server.log.slice(opened).filter(({ rpc }) => rpc === "tools/call");
    for (const key of ["one", "two", "three"]) {
      const [post, ...more] = posts.filter((line) => line.key === `${entry} ${key}`);
      assert.deepEqual(more, [], "nothing of it is sent again");
      await until(`the server sees ${key} end`, () => post.closedAt !== undefined);
      assert.equal(post.closedBy, "client");
    }
    await page.evaluate(closeSession);
    const log = shop.server.log.slice(opened);
    const [first] = log;
    assert.equal(log.filter(({ rpc }) => rpc === "initialize").length, 1, "the session goes on");
    assert.ok(log.slice(1).every(({ session }) => session === first.opened));
    assert.equal(log.at(-1).method, "DELETE");
    assert.deepEqual(errors, []);
  });
}

test("a page's error and a rejection that nobody handles would be seen by these tests", async (t) => {
  const { page, errors } = await shop.open(t);
  await page.evaluate(() => {
    setTimeout(() => {
      throw new Error("thrown");
    });
    setTimeout(() => void Promise.reject(new Error("rejected")));
  });
  await until("both are told", () => errors.length === 2);
  assert.match(errors.join(), /thrown.*rejected/);
});
