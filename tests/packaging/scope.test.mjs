// What the packed package reaches, and what it does while it is only imported: a Worker that reads a clock or starts
// anything at module scope is refused, and a page's bundle has no Node.
import assert from "node:assert/strict";
import { createHook } from "node:async_hooks";
import { createRequire } from "node:module";
import { after, before, describe, test } from "node:test";
import { runInThisContext } from "node:vm";
import { build } from "esbuild";
import { installed } from "./tarball.mjs";

const ENTRIES = ["landfall", "landfall/url", "landfall/slim"];
const CONDITIONS = {
  browsers: ["browser"],
  workerd: ["workerd", "worker", "browser"],
  Node: ["node"],
};
const PEERS = ["@modelcontextprotocol/*"];

let package_;
before(async () => {
  package_ = await installed();
});
after(() => package_?.remove());

/** As one script: a module with a top-level await can't be made into one. */
async function bundle(contents, conditions) {
  const { outputFiles, metafile } = await build({
    ...{ stdin: { contents, resolveDir: package_.folder }, bundle: true, write: false, metafile: true },
    ...{ format: "iife", platform: "neutral", mainFields: [], conditions, logLevel: "silent" },
    ...{ loader: { ".wasm": "empty" }, external: ["node:*", ...PEERS] },
  });
  const imports = Object.values(metafile.inputs).flatMap((input) => input.imports);
  const foreign = imports.filter(({ external }) => external).map(({ path }) => path);
  return { text: outputFiles[0].text, imports, foreign };
}

/** What a script uses while it is evaluated. */
function usedBy(text, t) {
  const used = [];
  const watch = (object, name) => {
    const original = object[name];
    t.mock.method(object, name, function (...args) {
      used.push(name);
      return new.target ? Reflect.construct(original, args) : Reflect.apply(original, this, args);
    });
  };
  for (const name of ["fetch", "setTimeout", "setInterval", "queueMicrotask", "Date"])
    watch(globalThis, name);
  for (const name of ["compile", "instantiate", "Module", "Instance"]) watch(WebAssembly, name);
  for (const [object, name] of [
    [Date, "now"],
    [performance, "now"],
    [Math, "random"],
    [crypto, "getRandomValues"],
    [crypto, "randomUUID"],
  ])
    watch(object, name);
  const hook = createHook({
    init: (_id, type) => {
      if (type === "PROMISE") used.push("a promise");
    },
  });
  hook.enable();
  try {
    runInThisContext(text);
  } finally {
    hook.disable();
    t.mock.restoreAll();
  }
  return used;
}

describe("imported and no more", () => {
  before(() => {
    globalThis.require = createRequire(import.meta.url);
  });
  after(() => {
    delete globalThis.require;
  });

  for (const [name, conditions] of Object.entries(CONDITIONS)) {
    for (const entry of ENTRIES) {
      test(`${entry} for ${name} reads no clock, starts nothing and makes no promise`, async (t) => {
        const { text } = await bundle(`export * from "${entry}";`, conditions);
        assert.match(text, /new WebAssembly\.Instance/);
        assert.deepEqual(usedBy(text, t), []);
      });
    }
  }

  test("a module that does would be found out", (t) => {
    const used = usedBy(`(async () => {})(); setTimeout(() => {}); Date.now(); new Date();`, t);
    assert.deepEqual(used, ["a promise", "setTimeout", "now", "Date"]);
  });
});

test("whoever imports a part has the rest left out by his bundler", async () => {
  const size = async (names) => {
    const { text } = await bundle(`export { ${names} } from "landfall/url";`, CONDITIONS.browsers);
    return text.length;
  };
  const all = await size("connect, LandfallTransport, ConfigError");
  assert.ok((await size("connect")) < 0.9 * all, "no transport");
  assert.ok((await size("LandfallTransport")) < 0.95 * all, "no session of its own");
  assert.ok((await size("ConfigError")) < 0.3 * all, "neither");
});

test("no entry reaches a module of Node's, but the one for Node that reads the file", async () => {
  for (const [name, conditions] of Object.entries(CONDITIONS)) {
    for (const entry of [...ENTRIES, "landfall/v1", "landfall/v2"]) {
      const { foreign } = await bundle(`export * from "${entry}";`, conditions);
      const isOurs = (path) => !path.startsWith("@modelcontextprotocol/");
      const expected = name === "Node" && entry === "landfall/url" ? ["node:fs/promises"] : [];
      assert.deepEqual(foreign.filter(isOurs), expected, `${entry} for ${name}`);
    }
  }
});

test("no entry reaches an eval, or an import that a bundler can't follow", async () => {
  for (const [name, conditions] of Object.entries(CONDITIONS)) {
    for (const entry of [...ENTRIES, "landfall/v1", "landfall/v2"]) {
      const { text, imports } = await bundle(`export * from "${entry}";`, conditions);
      assert.ok(imports.every(({ kind }) => kind === "import-statement"));
      assert.doesNotMatch(text, /\bimport\s*\(|\beval\s*\(|\bnew Function\b/, `${entry} for ${name}`);
    }
  }
});
