// What the documents name is there: files, make targets, headings that sources cite, and pictures as they are drawn.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { suites } from "../../www/build/suites.mjs";
import { pictures } from "../../www/docs/pictures.mjs";
import { whichServer } from "../servers/eras.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (name) => readFileSync(join(root, name), "utf8");
const documents = ["ARCHITECTURE.md", "CONTRIBUTING.md", "tests/README.md"];

/** The paths that a text names in code marks. */
const pathsIn = (text) => [...text.matchAll(/`((?:src|tests|www|docs)\/[\w./-]+)`/g)].map(([, path]) => path);
const slug = (heading) => heading.toLowerCase().replaceAll(" ", "-");
const headingsOf = (text) => [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading);

test("every path that a document names is there", () => {
  for (const name of documents) {
    const paths = pathsIn(read(name)).filter((path) => !path.includes("NAME"));
    assert.ok(paths.length > 5, name);
    const missing = paths.filter((path) => !existsSync(join(root, path)));
    assert.deepEqual(missing, [], name);
  }
});

test("every link of a document leads somewhere", () => {
  for (const name of documents) {
    const text = read(name);
    for (const [, to] of text.matchAll(/\]\(([^)]+)\)/g)) {
      const [path, anchor] = to.split("#");
      if (path === "") assert.ok(headingsOf(text).map(slug).includes(anchor), `${name}: ${to}`);
      else assert.ok(existsSync(join(root, dirname(name), path)), `${name}: ${to}`);
    }
  }
});

test("the README's table of servers is what their tests prove", () => {
  const [, table] = /<!-- servers -->\n([\s\S]*?)\n<!-- \/servers -->/.exec(read("README.md")) ?? [];
  assert.equal(table, whichServer());
});

test("every make target that a document names is there", () => {
  const targets = [...read("Makefile").matchAll(/^(\w+):/gm)].map(([, target]) => target);
  for (const name of documents) {
    const named = [...read(name).matchAll(/(?:`|^)make (\w+)/gm)].map(([, target]) => target);
    assert.deepEqual(
      named.filter((target) => !targets.includes(target)),
      [],
      name,
    );
  }
});

test("every folder of tests and every suite that runs one stands in the table", () => {
  const table = read("tests/README.md");
  const folders = readdirSync(join(root, "tests"), { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  );
  for (const { name } of folders) assert.match(table, new RegExp(`^\\| \`tests/${name}\` \\|`, "m"), name);
  const lints = ["rustfmt", "clippy", "rustdoc", "tsc", "biome", "drop-in on Node 24"];
  for (const { name, quick } of suites()) {
    if (lints.some((lint) => name.startsWith(lint))) continue;
    assert.ok(table.includes(`| \`${name}\`${quick ? ", quick" : ""} |`), name);
  }
});

test("what a source cites of ARCHITECTURE.md is a heading there, and no source cites what is not here", () => {
  const headings = headingsOf(read("ARCHITECTURE.md"));
  let cited = 0;
  for (const folder of ["src", "tests", "www"]) {
    for (const file of readdirSync(join(root, folder), { recursive: true })) {
      if (!/\.(rs|ts|mjs)$/.test(file) || /\bnode_modules\b/.test(file)) continue;
      const text = read(join(folder, file));
      // A citation may be broken over two lines of a comment.
      const flat = text.replaceAll(/\n\s*\/\/[!/]?\s*/g, " ");
      for (const [, heading] of flat.matchAll(/ARCHITECTURE\.md, "([^"]+)"/g)) {
        cited += 1;
        assert.ok(headings.includes(heading), `${file}: ${heading}`);
      }
      assert.doesNotMatch(flat, /\bdesign,? sections? \d/, file);
    }
  }
  assert.ok(cited > 5);
});

test("the pictures are as they are drawn", () => {
  assert.deepEqual(readdirSync(join(root, "docs")).sort(), Object.keys(pictures).sort());
  for (const [name, drawn] of Object.entries(pictures)) assert.equal(read(join("docs", name)), drawn, name);
});
