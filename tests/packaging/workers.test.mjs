// The packed package in workerd.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { program, WORKERS } from "./cases.mjs";
import { workshop } from "./workshop.mjs";

const shop = workshop();

describe("a call that is cut makes landfall in a Worker", { concurrency: 2 }, () => {
  for (const { name, how, entries, skip, serve } of WORKERS) {
    for (const entry of entries) {
      test(`in ${name} by ${how}, with ${entry}`, { skip }, async (t) => {
        const worker = await serve(await shop.package.project(), program("worker", entry));
        t.after(() => worker.stop());
        const keys = [1, 2].map((n) => `${how} ${entry} ${n}`);
        await Promise.all(
          keys.map(async (key) => {
            const response = await fetch(
              `${worker.url}/?${new URLSearchParams({ url: shop.server.url, key })}`,
            );
            const text = await response.text();
            assert.equal(response.status, 200, text);
            shop.assertCarried(key, JSON.parse(text));
          }),
        );
      });
    }
  }
});
