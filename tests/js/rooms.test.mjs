// What may import what: the rooms of src/ts those below them (biome.json says so, and here it is held to it), the core in
// Rust nothing of its driver, and a machine of the core not the client that it is a part of.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const ladder = ["entry", "sdk", "session", "call", "options", "core", "http", "base", "api"];

/** What the lint says of a house with these files: `[rule, file]`. */
function lint(t, files) {
  const house = mkdtempSync(join(tmpdir(), "landfall-rooms-"));
  t.after(() => rmSync(house, { recursive: true }));
  copyFileSync(join(root, "biome.json"), join(house, "biome.json"));
  for (const [name, text] of Object.entries(files)) {
    const path = join(house, "src/ts", name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  const biome = join(root, "node_modules/.bin/biome");
  const { stdout } = spawnSync(biome, ["lint", "--reporter=github", "--max-diagnostics=none", "src/ts"], {
    cwd: house,
    encoding: "utf8",
  });
  const found = stdout.matchAll(/title=lint\/\w+\/(\w+),file=(?:.*\/)?src\/ts\/([^,]+),/g);
  return [...found].map(([, rule, file]) => [rule, file]).sort();
}

test("every folder of src/ts is a room of the ladder", () => {
  const entries = readdirSync(join(root, "src/ts"), { withFileTypes: true });
  assert.deepEqual(entries.map((entry) => entry.name).sort(), [...ladder].sort());
  assert.ok(entries.every((entry) => entry.isDirectory()));
});

test("an import that runs up is an error, also one of types alone, and one that runs down is none", (t) => {
  const files = {};
  const expected = [];
  for (const [floor, from] of ladder.entries()) {
    for (const [other, to] of ladder.entries()) {
      if (from === to) continue;
      for (const kind of ["import type { X }", "import { x }", "export type { X }"]) {
        const name = `${from}/${kind.replaceAll(/[^a-z]+/g, "-")}${to}.ts`;
        const use = kind.startsWith("import type") ? "\nexport type Y = X;" : "\nexport const y = x;";
        files[name] = `${kind} from "../${to}/some.js";${kind.startsWith("export") ? "" : use}\n`;
        if (other < floor) expected.push(["noRestrictedImports", name]);
      }
    }
  }
  assert.deepEqual(lint(t, files), expected.sort());
});

test("a circle is an error, also one of types alone", (t) => {
  const found = lint(t, {
    "base/one.ts": 'import type { B } from "./two.js";\nexport type A = B | 1;\n',
    "base/two.ts": 'import type { A } from "./one.js";\nexport type B = A | 2;\n',
  });
  assert.deepEqual(found, [
    ["noImportCycles", "base/one.ts"],
    ["noImportCycles", "base/two.ts"],
  ]);
});

test("timers and the clock are those that base/timers.ts took", (t) => {
  const files = {
    "base/timers.ts": "export const later = globalThis.setTimeout;\n",
    "call/some.ts": "export const timer = setTimeout(() => {}, 1);\nexport const at = performance.now();\n",
  };
  const rule = ["noRestrictedGlobals", "call/some.ts"];
  assert.deepEqual(lint(t, files), [rule, rule]);
});

/** What a file of src/proto or src/wire may not say: what it runs in, and, below the client, whose part it is. */
function tooHigh(name, text) {
  const code = text.replace(/^\s*\/\/.*$/gm, "");
  const driver = /\bcrate::web\b|\b(?:wasm_bindgen|js_sys|web_sys|gloo_timers|serde_wasm_bindgen)\b/;
  const isAbove = name === "mod.rs" || /^client(?:\.rs$|\/)/.test(name);
  const client = /\bclient::|::client\b|\bClient\b/;
  return driver.test(code) || (!isAbove && client.test(code));
}

test("the core knows no driver, and its leaves and machines no client", () => {
  for (const [room, least] of Object.entries({ "src/proto": 20, "src/wire": 5 })) {
    const folder = join(root, room);
    const names = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".rs"));
    assert.ok(names.length > least);
    const found = names.filter((name) => tooHigh(name, readFileSync(join(folder, name), "utf8")));
    assert.deepEqual(found, []);
  }
});

test("one that did would be found", () => {
  for (const name of ["sse.rs", "client/send.rs", "mod.rs", "machines/outage.rs"])
    assert.ok(tooHigh(name, "use crate::web::exports;\n"), name);
  for (const line of ["use super::Client;", "use crate::proto::client::Client;", "impl client::Client {"])
    assert.ok(tooHigh("machines/outage.rs", `${line}\n`), line);
  assert.ok(!tooHigh("client/send.rs", "use super::Client;\n"));
  assert.ok(!tooHigh("sse.rs", "// What the Client gets.\n"));
});
