import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { createFaultServer } from "../server/server.mjs";
import { installed } from "./tarball.mjs";

// What each entry needs before its `connect`, in an ordinary Node project.
const ENTRIES = {
  landfall: 'import { connect } from "landfall";',
  "landfall/url": 'import { connect } from "landfall/url";',
  "landfall/slim": `
import { readFile } from "node:fs/promises";
import { connect, initializeWasm } from "landfall/slim";
await initializeWasm(await readFile(new URL(import.meta.resolve("landfall/landfall.wasm"))));`,
};

const CALL = `
const session = await connect(process.argv[2], { era: "resumable" });
const steps = [{ message: "one" }, { wait: 50 }, { cut: "rst" }, { message: "two" }];
const call = session.callTool("scripted", { key: process.argv[3], steps });
const seen = [];
for await (const event of call) seen.push(event.type === "message" ? event.message.params.data : event.type);
console.log(JSON.stringify({ seen, result: await call.result }));
await session.close();
`;

describe("the packed package", () => {
  let package_;
  let server;

  before(async () => {
    server = await createFaultServer();
    package_ = await installed();
  });

  after(async () => {
    await package_?.remove();
    await server?.close();
  });

  for (const [entry, head] of Object.entries(ENTRIES)) {
    test(`carries a call from an empty project through ${entry}`, async () => {
      const { seen, result } = JSON.parse(await package_.run(head + CALL, server.url, entry));
      assert.deepEqual(
        seen.filter((event) => ["one", "two", "result"].includes(event)),
        ["one", "two", "result"],
      );
      assert.equal(seen.filter((event) => event === "resumed").length, 1);
      assert.ok(Array.isArray(result.content));
      assert.equal(server.executions(entry), 1);
    });
  }

  test("holds what its manifest and its modules name, and nothing else", async () => {
    const manifest = JSON.parse(await readFile(join(package_.folder, "package.json"), "utf8"));
    const entries = Object.values(manifest.exports).flatMap((entry) =>
      typeof entry === "string" ? [entry] : Object.values(entry),
    );
    const papers = ["package.json", "README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];
    // A module and its declarations go together, also where only the one is imported.
    const named = await reachable(package_.folder, [...entries, ...papers], (name) => {
      const [, module] = /^(.*?)(?:\.d\.ts|\.js)$/.exec(name) ?? [];
      return module ? [`${module}.js`, `${module}.d.ts`] : [];
    });
    assert.deepEqual(package_.files, [...named].sort());
  });

  test("has no dependencies", async () => {
    assert.deepEqual(await package_.packages(), ["", "node_modules/landfall"]);
  });

  test("reaches nothing of Node's from the entries for browsers and workers", async () => {
    for (const entry of ["./index.js", "./url.js", "./slim.js", "./workerd.js"]) {
      for (const file of await reachable(package_.folder, [entry])) {
        const text = file.endsWith(".js") ? await readFile(join(package_.folder, file), "utf8") : "";
        assert.doesNotMatch(
          text,
          /\b(?:from|import)\s*\(?\s*["']node:|\brequire\(/,
          `${file}, reached from ${entry}`,
        );
      }
    }
  });

  test("imports nothing by a name that a bundler can't follow, and has no top-level await", async () => {
    const modules = package_.files.filter((name) => name.endsWith(".js"));
    for (const name of modules) {
      const text = await readFile(join(package_.folder, name), "utf8");
      assert.doesNotMatch(text, /\bimport\(|^await\b|^(?:const|let) \w+ = await\b/m, name);
    }
  });
});

/** The files that these import, themselves included, and what goes along with each. */
async function reachable(folder, entries, along = () => []) {
  const found = new Set();
  const waiting = entries.map((entry) => entry.replace(/^\.\//, ""));
  for (const name of waiting) {
    if (found.has(name)) continue;
    found.add(name);
    waiting.push(...along(name));
    if (!/\.(?:js|d\.ts)$/.test(name)) continue;
    const text = await readFile(join(folder, name), "utf8");
    const imports = /(?:\bfrom|^\s*import|new URL\()\s*["']\.\/([^"']+)["']/gm;
    for (const [, target] of text.matchAll(imports)) {
      waiting.push(name.endsWith(".d.ts") ? target.replace(/\.js$/, ".d.ts") : target);
    }
  }
  return found;
}
