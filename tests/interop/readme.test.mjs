// The README's quick start, as printed, from the packed package in an empty project, against the Python SDK.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { installed } from "../packaging/tarball.mjs";
import { startPythonServer } from "./python-server.mjs";

let server;
let package_;

before(async () => {
  server = await startPythonServer();
  package_ = await installed();
});

after(async () => {
  await package_?.remove();
  await server?.stop();
});

test("the quick start of the README runs as printed", async () => {
  const readme = await readFile(new URL("../../README.md", import.meta.url), "utf8");
  const [, snippet] = readme.match(/<!-- quick-start -->\n```js\n([\s\S]*?)```/) ?? [];
  assert.ok(snippet, "the README has a quick start");
  const printed = await package_.run(snippet, server.url);
  assert.match(printed, /'process_batch'/);
  const items = [...printed.matchAll(/^\[(\d+)\/10\] item \1$/gm)].map(([, item]) => Number(item));
  assert.deepEqual(items, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  assert.match(printed, /10 items processed/);
  assert.equal(await server.executions("process_batch"), 1);
});
