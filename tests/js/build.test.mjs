// How the package is built: the glue made a factory, the module inlined, the manifest and the version.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";
import { toInline } from "../../www/build/core.mjs";
import { toFactory, withShortNames } from "../../www/build/factory.mjs";
import { cargoVersion, checkVersion, toManifest } from "../../www/build/stage.mjs";

// A module that counts its calls in its memory, so that two instances can be told apart:
// (memory (export "memory") 1)
// (func (export "count") (result i32) (i32.store (i32.const 0) (i32.add (i32.load (i32.const 0)) (i32.const 1)))
//   (i32.load (i32.const 0)))
// (func (export "__wbindgen_start"))
const COUNTER = new Uint8Array(
  [
    [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    [0x01, 0x08, 0x02, 0x60, 0x00, 0x01, 0x7f, 0x60, 0x00, 0x00],
    [0x03, 0x03, 0x02, 0x00, 0x01],
    [0x05, 0x03, 0x01, 0x00, 0x01],
    [0x07, 0x25, 0x03],
    [0x06, ...Buffer.from("memory"), 0x02, 0x00],
    [0x05, ...Buffer.from("count"), 0x00, 0x00],
    [0x10, ...Buffer.from("__wbindgen_start"), 0x00, 0x01],
    [0x0a, 0x19, 0x02],
    [0x14, 0x00, 0x41, 0x00, 0x41, 0x00, 0x28, 0x02, 0x00, 0x41, 0x01, 0x6a, 0x36, 0x02, 0x00],
    [0x41, 0x00, 0x28, 0x02, 0x00, 0x0b],
    [0x02, 0x00, 0x0b],
  ].flat(),
);

const LOADER = `
async function __wbg_load(module, imports) {
    return await WebAssembly.instantiate(module, imports);
}

function initSync(module) {
    return __wbg_finalize_init(new WebAssembly.Instance(module, __wbg_get_imports()), module);
}

let __wbg_init_promise;
async function __wbg_init(module_or_path) {
    return __wbg_init_promise ??= __wbg_init_once(module_or_path);
}

async function __wbg_init_once(module_or_path) {
    return module_or_path;
}

export { initSync, __wbg_init as default };
`;

/** Glue in the form of wasm-bindgen 0.2.130, with `more` among its parts. */
const glue = (more = "", loader = LOADER) => `/**
 * @returns {number}
 */
export function count() {
    return wasm.count();
}
${more}
function __wbg_get_imports() {
    return { __proto__: null };
}

const CLOSURE_DTORS = (typeof FinalizationRegistry === 'undefined')
    ? { register: () => {}, unregister: () => {} }
    : new FinalizationRegistry(state => wasm.__wbindgen_destroy_closure(state.a, state.b));

let wasmModule, wasmInstance, wasm;
function __wbg_finalize_init(instance, module) {
    wasmInstance = instance;
    wasm = instance.exports;
    wasmModule = module;
    wasm.__wbindgen_start();
    return wasm;
}
${loader}`;

async function load(text) {
  const folder = mkdtempSync(join(tmpdir(), "landfall-test-"));
  try {
    const file = join(folder, "module.mjs");
    writeFileSync(file, text);
    return await import(pathToFileURL(file).href);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe("a retired instance", () => {
  test("does nothing, and another one is not touched by it", async () => {
    const { createCore } = await load(toFactory(glue()));
    const module = new WebAssembly.Module(COUNTER);
    const [one, two] = [createCore(module), createCore(module)];
    const { memory } = one;
    one.count();
    one.retire();
    one.count();
    assert.equal(new Uint8Array(memory.buffer)[0], 1);
    assert.equal(two.count(), 1);
  });

  test("has its timers cleared, and those of another one fire", async (t) => {
    const timing = `
export function later(run, ms) {
    return setTimeout(run, ms);
}

export function never(timer) {
    clearTimeout(timer);
}`;
    const { createCore } = await load(toFactory(glue(timing)));
    const module = new WebAssembly.Module(COUNTER);
    const [one, two] = [createCore(module), createCore(module)];
    const set = t.mock.method(globalThis, "setTimeout");
    const cleared = t.mock.method(globalThis, "clearTimeout");
    const fired = [];
    one.later(() => fired.push("one"), 1);
    two.never(two.later(() => fired.push("cleared"), 1));
    const firing = new Promise((resolve) => two.later(resolve, 5));
    one.retire();
    await firing;
    two.retire();
    assert.deepEqual(fired, []);
    const timers = set.mock.calls.map(({ result }) => result);
    assert.deepEqual(
      cleared.mock.calls.map(({ arguments: [timer] }) => timers.indexOf(timer)),
      [1, 0],
    );
  });
});

describe("the factory made from wasm-bindgen's glue", () => {
  test("each call makes an instance of its own", async () => {
    const { createCore } = await load(toFactory(glue()));
    const module = new WebAssembly.Module(COUNTER);
    const [one, two] = [createCore(module), createCore(module)];
    assert.deepEqual([one.count(), one.count(), two.count()], [1, 2, 1]);
    assert.notEqual(one.memory, two.memory);
    assert.deepEqual(Object.keys(one), ["count", "memory", "hold", "retire"]);
  });

  test("it neither fetches nor compiles, and has no finalizers", () => {
    const text = toFactory(glue());
    assert.doesNotMatch(text, /WebAssembly\.(instantiate|Module)|fetch|import\.meta|FinalizationRegistry/);
  });

  const refused = {
    "an import of a snippet": [
      glue("import { f } from './snippets/a/inline0.js';"),
      /left-over module syntax: import/,
    ],
    "an import after the loader's start": [
      glue("", `${LOADER}import * as env from 'env';\n`),
      /left-over module/,
    ],
    "a dynamic import": [glue("const other = import('./other.js');"), /left-over module syntax/],
    "import.meta": [glue("const here = import.meta.url;"), /left-over module syntax/],
    "another export": [glue("export const answer = 42;"), /left-over module syntax: export const/],
    "an exported class": [glue("export class Call {}"), /a class is exported/],
    "a finalizer of unknown form": [glue("new FinalizationRegistry(free);"), /FinalizationRegistry/],
    "a function of ours behind the loader": [
      glue("", LOADER.replace("export {", "function helper() {}\n\nexport {")),
      /helper stands among/,
    ],
    "glue without its loader": [glue("", ""), /no __wbg_load/],
    "an export with a name of the factory's": [glue("export function retire() {}"), /name retire/],
    "no export": [glue().replace("export function", "function"), /nothing is exported/],
  };
  for (const [what, [text, message]] of Object.entries(refused)) {
    test(`the build fails on ${what}`, () => assert.throws(() => toFactory(text), { message }));
  }
});

describe("the factory of a module with short names", () => {
  const told = `{ "imports": [
  ["./core_bg.js", "__wbg_log_1f", "A"],
  ["./core_bg.js", "__wbindgen_throw", "B"]
 ], "exports": [["count", "C"], ["__wbindgen_start", "D"], ["memory", "E"]] }`;
  const text = `const import0 = {
        __proto__: null,
        __wbg_log_1f: function(arg0) { wasm.count(); },
        __wbindgen_throw: function(arg0) { wasm.__wbindgen_start(wasm.memory); },
    };
    return { "./core_bg.js": import0 };`;

  test("binds and calls them, and nothing else is renamed", () => {
    assert.equal(
      withShortNames(text, told),
      `const import0 = {
        __proto__: null,
        A: function(arg0) { wasm.C(); },
        B: function(arg0) { wasm.D(wasm.E); },
    };
    return { a: import0 };`,
    );
  });

  test("the build fails where one is not told, or nothing is bound to it", () => {
    assert.throws(() => withShortNames(text, told.replace('["count", "C"], ', "")), /no export count/);
    assert.throws(
      () => withShortNames(text, told.replace("__wbg_log_1f", "__wbg_log_2f")),
      /bound to __wbg_log_2f/,
    );
    assert.throws(() => withShortNames(text, ""), /no names/);
  });
});

describe("staging", () => {
  const toml =
    '[workspace]\nversion = "9.9.9"\n\n[package]\nname = "x"\nversion = "1.2.3"\n\n[dependencies]\n';
  const pkg = {
    name: "x",
    exports: { ".": { types: "./index.d.ts", default: "./index.js" }, "./m": "./m.wasm" },
  };
  const files = ["index.js", "index.d.ts", "m.wasm"];

  test("the inline module is the module, gzipped, in base64", async () => {
    const { default: base64 } = await load(toInline(COUNTER));
    assert.deepEqual(new Uint8Array(gunzipSync(Buffer.from(base64, "base64"))), COUNTER);
  });

  test("the version is the package's own in Cargo.toml", () => {
    assert.equal(cargoVersion(toml), "1.2.3");
    assert.throws(() => cargoVersion('[dependencies]\nversion = "1.0.0"\n'), /no \[package\] version/);
  });

  test("the manifest is pkg.json with that version", () => {
    assert.deepEqual(toManifest(pkg, "1.2.3", files), { ...pkg, version: "1.2.3" });
  });

  test("an entry that names a file which is not built fails the build", () => {
    assert.throws(() => toManifest(pkg, "1.2.3", ["index.js", "m.wasm"]), /index\.d\.ts/);
  });

  test("a manifest with a version or a dependency of its own fails the build", () => {
    assert.throws(() => toManifest({ ...pkg, version: "1.0.0" }, "1.2.3", files), /has a version/);
    assert.throws(() => toManifest({ ...pkg, dependencies: { a: "1" } }, "1.2.3", files), /no dependencies/);
  });

  test("a wrapper that tells another version fails the build", () => {
    checkVersion('export const VERSION = "1.2.3";', "1.2.3");
    assert.throws(() => checkVersion('export const VERSION = "1.2.2";', "1.2.3"), /1\.2\.2/);
  });
});
