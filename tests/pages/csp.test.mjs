// Pages under a Content-Security-Policy that allows nothing but what landfall needs.
import assert from "node:assert/strict";
import { test } from "node:test";
import { workshop } from "./browser.mjs";

const shop = workshop();
const policy = (script) =>
  `default-src 'none'; script-src ${script}; connect-src 'self' ${shop.server.origin}`;

/** Runs in the page. */
async function callBy({ entry, url }) {
  const { connect } = await import(`/npm/${entry}`);
  const session = await connect(url, { era: "resumable" });
  const result = await session.callTool("scripted", { key: `csp ${entry}`, steps: [{ message: "hi" }] })
    .result;
  await session.close();
  return result.content[0].text;
}

/** Runs in the page. */
async function refusedBy({ entry, url }) {
  const { connect } = await import(`/npm/${entry}`);
  return connect(url, { era: "resumable" }).then(
    () => "connected",
    ({ name, method, reason, outcome, message }) => ({ name, method, reason, outcome, message }),
  );
}

for (const entry of ["index.js", "url.js"]) {
  const named = `${entry}, script-src 'self'`;

  test(`${named} 'wasm-unsafe-eval' is all that a call needs of a policy`, async (t) => {
    const { page, errors } = await shop.open(t, policy("'self' 'wasm-unsafe-eval'"));
    const text = await page.evaluate(callBy, { entry, url: shop.server.url });
    assert.equal(text, `csp ${entry} done`);
    assert.deepEqual(errors, []);
  });

  test(`${named} alone: connect rejects before anything is sent, and says what the policy lacks`, async (t) => {
    const { page, errors } = await shop.open(t, policy("'self'"));
    const before = shop.server.log.length;
    const { message, ...failure } = await page.evaluate(refusedBy, { entry, url: shop.server.url });
    assert.deepEqual(failure, {
      name: "ToolCallFailedError",
      method: "initialize",
      reason: "internal_error",
      outcome: "not_sent",
    });
    assert.match(message, /WebAssembly module can't be used: .*add 'wasm-unsafe-eval' to script-src/i);
    assert.equal(shop.server.log.length, before, "nothing was sent");
    assert.deepEqual(errors, []);
  });
}
