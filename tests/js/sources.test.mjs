// What the published JavaScript may not contain: each line of it must load in every runtime.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";

const folder = new URL("../../target/npm/", import.meta.url);
const names = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".js"));
const sources = names.map((name) => [name, withoutComments(readFileSync(new URL(name, folder), "utf8"))]);

function withoutComments(text) {
  return text.replace(/^\s*(\/\/|\/?\*).*$/gm, "");
}

test("there is no eval, no dynamic import and no top-level await", () => {
  assert.ok(sources.length > 20);
  for (const [name, text] of sources) {
    assert.doesNotMatch(text, /\beval\s*\(|\bnew Function\b/, name);
    assert.doesNotMatch(text, /\bimport\s*\(/, name);
    assert.doesNotMatch(text, /^(await|for await)\b|^(const|let|export const) [^=]*= await\b/m, name);
  }
});

// Each entry for an SDK takes from it what it can't bring along; nothing else does.
const allowed = new Map([
  ["entry/url-node.js", ["node:fs/promises"]],
  [
    "sdk/v1.js",
    ["@modelcontextprotocol/sdk/client/auth.js", "@modelcontextprotocol/sdk/client/streamableHttp.js"],
  ],
  ["sdk/v2.js", ["@modelcontextprotocol/client"]],
]);

test("only the entry for Node imports a module of Node's, and only those for an SDK import that SDK", () => {
  for (const [name, text] of sources) {
    const imports = [...text.matchAll(/^(?:import|export)\s(?:[^;"'=]*?\bfrom\s)?\s*["']([^"']+)["']/gm)].map(
      ([, from]) => from,
    );
    const foreign = imports.filter((from) => !from.startsWith("."));
    assert.deepEqual(foreign, allowed.get(name) ?? [], name);
  }
});

test("no other entry reaches an entry for an SDK", () => {
  const importsOf = (name) =>
    [...(new Map(sources).get(name) ?? "").matchAll(/\bfrom\s*["'](\.[^"']+)["']/g)].map(([, from]) =>
      join(dirname(name), from),
    );
  for (const file of ["index.js", "workerd.js", "url.js", "url-node.js", "slim.js"]) {
    const entry = `entry/${file}`;
    const reached = new Set([entry]);
    for (const name of reached) for (const next of importsOf(name)) reached.add(next);
    assert.ok(reached.has("sdk/transport.js"), entry);
    assert.ok(!reached.has("sdk/v1.js") && !reached.has("sdk/v2.js"), entry);
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
