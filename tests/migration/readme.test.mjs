// The README's three swaps, as printed, from the packed package in a project with that SDK, against the Python SDK's
// server behind a proxy that cuts the first stream.
import assert from "node:assert/strict";
import { mkdir, readFile, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { createCuttingProxy } from "../interop/proxy.mjs";
import { startPythonServer } from "../interop/python-server.mjs";
import { installed } from "../packaging/tarball.mjs";

const MODULES = fileURLToPath(new URL("../../node_modules", import.meta.url));
const CUTS = [{ after: 2, how: "rst" }];
const SDKS = ["@modelcontextprotocol/sdk", "@modelcontextprotocol/client", "@ai-sdk/mcp"];

let server;
let package_;

before(async () => {
  server = await startPythonServer();
  package_ = await installed();
  for (const sdk of SDKS) {
    const link = join(dirname(package_.folder), sdk);
    await mkdir(dirname(link), { recursive: true });
    await symlink(join(MODULES, sdk), link);
  }
});

after(async () => {
  await package_?.remove();
  await server?.stop();
});

for (const sdk of ["v1", "v2", "ai"]) {
  test(`the swap for ${sdk} runs as printed, and through a cut`, async () => {
    const readme = await readFile(new URL("../../README.md", import.meta.url), "utf8");
    const [, snippet] =
      readme.match(new RegExp(`<!-- migrate: ${sdk} -->\\n\`\`\`js\\n([\\s\\S]*?)\`\`\``)) ?? [];
    assert.ok(snippet, `the README has a swap for ${sdk}`);
    const executions = await server.executions("process_batch");
    const proxy = await createCuttingProxy({ upstream: server.url, plan: () => CUTS });
    const printed = await package_.run(snippet, proxy.url);
    assert.match(printed, /5 items processed/);
    assert.equal(proxy.faults.length, CUTS.length);
    assert.equal(await server.executions("process_batch"), executions + 1);
    await proxy.close();
  });
}
