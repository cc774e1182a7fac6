// What the published JavaScript may not contain: each line of it must load in every runtime.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const folder = new URL("../../target/npm/", import.meta.url);
const names = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".js"));

/** What a file imports. Fails where there is a top-level await, which the format has no form for. */
async function importsOf(name) {
  const { metafile } = await build({
    ...{ entryPoints: [fileURLToPath(new URL(name, folder))], bundle: true, external: ["*"], format: "cjs" },
    ...{ metafile: true, write: false, outdir: "out", logLevel: "silent" },
  });
  const [{ imports }] = Object.values(metafile.outputs);
  // In that format `export * from` is a call of require.
  return imports.map(({ path }) => path).sort();
}

// An entry brings along all but what it shares with others, the module as a file, and what an SDK or Node has.
const inline = "./inline.js";
const imported = "./imported.js";
const sdk1 = [
  "@modelcontextprotocol/sdk/client/auth.js",
  "@modelcontextprotocol/sdk/client/streamableHttp.js",
];
const sdk2 = ["@modelcontextprotocol/client"];
const files = {
  "entry/index.js": [inline],
  "entry/workerd.js": [imported],
  "entry/url.js": [],
  "entry/url-node.js": ["node:fs/promises"],
  "entry/slim.js": [],
  "entry/v1.js": [inline, ...sdk1],
  "entry/v1-workerd.js": [imported, ...sdk1],
  "entry/v2.js": [inline, ...sdk2],
  "entry/v2-workerd.js": [imported, ...sdk2],
  "entry/inline.js": [],
  "entry/imported.js": ["./landfall.wasm"],
  "url.js": ["./entry/url.js"],
  "slim.js": ["./entry/slim.js"],
  "v1.js": ["./entry/v1.js"],
  "v2.js": ["./entry/v2.js"],
};

test("each entry is one file, which imports what is shared, its SDK, or a module of Node's, and nothing else", async () => {
  assert.deepEqual([...names].sort(), Object.keys(files).sort());
  for (const name of names) {
    const imports = await importsOf(name);
    // The same name imported twice is imported once.
    assert.deepEqual([...new Set(imports)], [...files[name]].sort(), name);
  }
});

test("there is no eval, and no import() or top-level await, of which some runtimes have none", async () => {
  for (const name of names) {
    const text = readFileSync(new URL(name, folder), "utf8");
    assert.doesNotMatch(text, /\beval\s*\(|\bnew Function\b|\bimport\s*\(/, name);
    await assert.doesNotReject(importsOf(name), name);
  }
  const rejected = build({ stdin: { contents: "await 1" }, format: "cjs", write: false, logLevel: "silent" });
  await assert.rejects(rejected, /Top-level await/);
});

test("each file has a map with the sources in it, and the licence", () => {
  for (const name of names.filter((each) => each.startsWith("entry/"))) {
    const text = readFileSync(new URL(name, folder), "utf8");
    assert.match(text, /^\/\*! landfall \S+, MIT OR Apache-2\.0;/, name);
    const [, url] = /\n\/\/# sourceMappingURL=(\S+)\s*$/.exec(text);
    const { sources, sourcesContent } = JSON.parse(readFileSync(new URL(url, new URL(name, folder)), "utf8"));
    assert.ok(sources.length > 0 && sources.length === sourcesContent.length, name);
    for (const [n, source] of sources.entries()) {
      if (!source.startsWith("../src/ts/")) continue;
      const written = readFileSync(new URL(`../../${source.slice(3)}`, import.meta.url), "utf8");
      assert.equal(sourcesContent[n], written, source);
    }
  }
});

test("importing an entry, or making a transport of it, starts nothing: no fetch, no timer, no clock, no compilation", async (t) => {
  const used = [];
  const note = (what) => () => {
    used.push(what);
    throw new Error(`${what} at module scope`);
  };
  t.mock.method(globalThis, "fetch", note("fetch"));
  t.mock.method(globalThis, "setTimeout", note("setTimeout"));
  t.mock.method(performance, "now", note("performance.now"));
  t.mock.method(Date, "now", note("Date.now"));
  t.mock.method(crypto, "getRandomValues", note("getRandomValues"));
  t.mock.method(WebAssembly, "compile", note("compile"));
  t.mock.method(WebAssembly, "Module", note("Module"));
  for (const entry of ["index.js", "url.js", "url-node.js", "slim.js"]) {
    const { connect, LandfallTransport } = await import(new URL(`entry/${entry}`, folder));
    assert.equal(typeof connect, "function", entry);
    new LandfallTransport("https://server.test/mcp");
  }
  assert.deepEqual(used, []);
});
