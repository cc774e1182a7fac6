// What is set up, and from where: lock files are kept to, and a part of the repository installs what it needs and no more.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (name) => readFileSync(join(root, name), "utf8");
const json = (name) => JSON.parse(read(name));

/** The packages of a lock file that those of a workspace need, as `npm ci --workspace` installs them. */
function neededBy(packages, workspace) {
  const found = new Set();
  const open = [workspace];
  for (let from = open.pop(); from !== undefined; from = open.pop()) {
    const { dependencies, devDependencies, optionalDependencies } = packages[from];
    const own = from === workspace ? devDependencies : {};
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...own })) {
      const place = placeOf(packages, from, name);
      if (place === undefined || found.has(place)) continue;
      found.add(place);
      open.push(place);
    }
  }
  return [...found];
}

/** Where a package finds another, from its own folder up. */
function placeOf(packages, from, name) {
  for (let folder = from; ; folder = folder.includes("/") ? dirname(folder) : "") {
    const place = join(folder, "node_modules", name);
    if (place in packages) return place;
    if (folder === "") return undefined;
  }
}

test("what builds and the demo need is a set of its own, a quarter of all and without browsers and runtimes", () => {
  const { packages } = json("package-lock.json");
  const { devDependencies: ofBuild } = json("www/package.json");
  const { devDependencies: ofTests } = json("package.json");
  assert.deepEqual(packages.www.devDependencies, ofBuild);
  assert.deepEqual(packages[""].devDependencies, ofTests);
  assert.deepEqual(
    Object.keys(ofBuild).filter((name) => name in ofTests),
    [],
  );
  const needed = neededBy(packages, "www").filter((place) => packages[place].os === undefined);
  const all = Object.keys(packages).filter((place) => place.startsWith("node_modules/"));
  assert.ok(needed.length > 50 && needed.length < all.length / 4, `${needed.length} of ${all.length}`);
  for (const name of ["wrangler", "vite", "playwright-core", "deno", "bun", "@biomejs/biome"])
    assert.ok(!needed.includes(`node_modules/${name}`), name);
});

test("the demo sets up that set alone, and whoever needs all of npm's gets it before", () => {
  const makefile = read("Makefile");
  const [, demo] = /^demo:(.*\n(?:\t.*\n)*)/m.exec(makefile);
  assert.match(demo, /\$\(parallel\) \.build$/m);
  assert.doesNotMatch(demo, /setup-npm/);
  const building = [...makefile.matchAll(/^\$\((?:package|modules)\)\/\S+:(?:.*\\\n)*.*/gm)].map(
    ([rule]) => rule,
  );
  assert.equal(building.length, 2);
  for (const rule of building) assert.match(rule, /\.setup-build(?!.*\.setup-npm)/s);
  for (const target of ["check", "test", "packaging", "matrix", "servers", "conformance", "api"]) {
    const [, recipe] = new RegExp(`^${target}:(.*\\n(?:\\t.*\\n)*)`, "m").exec(makefile);
    assert.match(recipe, /\$\(parallel\) .*\.setup-npm/, target);
  }
});

test("what is built and installed is what lock files say", () => {
  const commands = (name) => read(name).replaceAll("\\\n", " ").split("\n");
  const builds = commands("Makefile").filter((line) => /\bcargo (?:build|test)\b/.test(line));
  assert.equal(builds.length, 2);
  for (const line of builds) assert.match(line, /--locked/);
  assert.match(read("www/build/notice.mjs"), /"--locked"/);
  const tools = commands("www/build/setup-tool.sh").filter((line) => /^install_tool /.test(line));
  assert.match(tools[0], /--locked/);
  for (const name of ["npm", "servers"]) {
    const lines = commands(`www/build/setup-${name}.sh`).filter((line) => /^\s*npm /.test(line));
    assert.ok(lines.length > 0);
    for (const line of lines) assert.match(line, /^\s*npm ci\b/);
  }
});

test("the Worker of www/relay depends on the package that is built here, for there is none on npm", () => {
  const { landfall } = json("www/relay/package.json").dependencies;
  assert.equal(join(root, "www/relay", landfall.replace(/^file:/, "")), join(root, "target/npm"));
  assert.equal(json("target/npm/package.json").name, "landfall");
});

test("SECURITY.md names tests that there are", () => {
  const named = [...read("SECURITY.md").matchAll(/`(tests\/[^`]+)`/g)].map(([, path]) => path);
  assert.ok(named.length > 4);
  for (const path of named) assert.ok(existsSync(join(root, path)), path);
});
