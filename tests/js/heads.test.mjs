// Every source file begins with what it is for.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** What a file of this kind begins with. A script's first line is for the system, a schema's or a page's for its reader. */
const heads = {
  rs: /^\/\/! \S/,
  ts: /^(\/\/\/ <reference .*\n)*\/\/ (?!biome-ignore)\S/,
  mjs: /^(#!.*\n)?\/\/ (?!biome-ignore)\S/,
  cjs: /^\/\/ (?!biome-ignore)\S/,
  js: /^\/\/ (?!biome-ignore)\S/,
  py: /^(#!.*\n)?"""\S/,
  sh: /^(#!.*\n)?# \S/,
  css: /^\/\* \S/,
};

const kind = (name) => /\.(\w+)$/.exec(name)?.[1];
const hasHead = (name, text) => heads[kind(name)].test(text);

/** The files of a folder by their path from the root, without those that were installed or built there. */
function filesOf(folder) {
  const names = readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, name));
  return names.filter((name) => !/\b(node_modules|target|__pycache__)\b/.test(name));
}

test("every source file says in its first line what it is for", () => {
  const names = ["src", "www", "tests"].flatMap(filesOf).filter((name) => kind(name) in heads);
  assert.ok(names.length > 300, `${names.length} files`);
  const bare = names.filter((name) => !hasHead(name, readFileSync(join(root, name), "utf8")));
  assert.deepEqual(bare, []);
});

test("a file without such a line is found out", () => {
  const bare = {
    "a.rs": "use std::fmt;\n",
    "a.ts": 'import "./b.js";\n',
    "a.mjs": "/** What the first function does. */\n",
    "a.js": "// biome-ignore lint/x: not a head\n",
    "a.py": "import os\n",
    "a.sh": "#!/usr/bin/env bash\nset -e\n",
    "a.css": "body {}\n",
  };
  assert.deepEqual(
    Object.entries(bare).filter(([name, text]) => hasHead(name, text)),
    [],
  );
});
