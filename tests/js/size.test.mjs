// What the package weighs: how it is judged, and how a module is read for it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { above, lowered, sizesOf, withTable } from "../../www/build/size.mjs";
import { functionsOf, groupOf, sectionsOf } from "../../www/build/wasm-names.mjs";

const budget = JSON.parse(readFileSync(new URL("../../www/build/size.json", import.meta.url), "utf8"));

test("what is above its budget, or has none, is told with its size", () => {
  const sizes = { a: { gzip: 100 }, b: { gzip: 101 }, c: { gzip: 1 } };
  const told = above(sizes, { a: 100, b: 100 });
  assert.deepEqual(told, ["b has 101 bytes gzipped, 1 above its budget of 100", "c has no budget"]);
  assert.deepEqual(above({ a: { gzip: 100 } }, { a: 100 }), []);
});

test("a budget is lowered to what was reached and a hundredth, and never raised", () => {
  const sizes = { a: { gzip: 1_000 }, b: { gzip: 1_000 }, c: { gzip: 1_000 } };
  assert.deepEqual(lowered({ a: 5_000, b: 900 }, sizes), { a: 1_010, b: 900, c: 1_010 });
});

test("each part of the package has a budget", () => {
  assert.deepEqual(
    Object.keys(budget),
    Object.keys(sizesOf(new URL("../../target/npm", import.meta.url).pathname)),
  );
});

test("the README's sizes are those of the budget", () => {
  const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
  assert.match(readme, /<!-- size -->\n\| what is loaded/);
  assert.equal(readme, withTable(readme, budget), "make size LOWER=1 writes them");
});

// (import "a" "f" (func)) (import "a" "m" (memory 1 2)) (func $one) (func $two (i32.const 1) (drop)), and their names.
const MODULE = new Uint8Array(
  [
    [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    [0x01, 0x04, 0x01, 0x60, 0x00, 0x00],
    [0x02, 0x0f, 0x02, 0x01, 0x61, 0x01, 0x66, 0x00, 0x00, 0x01, 0x61, 0x01, 0x6d, 0x02, 0x01, 0x01, 0x02],
    [0x03, 0x03, 0x02, 0x00, 0x00],
    [0x0a, 0x0a, 0x02, 0x02, 0x00, 0x0b, 0x05, 0x00, 0x41, 0x01, 0x1a, 0x0b],
    [0x00, 0x12, 0x04, ...Buffer.from("name"), 0x01, 0x0b, 0x02, 0x01, 0x03, ...Buffer.from("one")],
    [0x02, 0x03, ...Buffer.from("two")],
  ].flat(),
);

test("the sections of a module are found, and its functions with their names", () => {
  assert.deepEqual(
    sectionsOf(MODULE).map(({ name, bytes }) => [name, bytes.length]),
    [
      ["type", 4],
      ["import", 15],
      ["function", 3],
      ["code", 10],
      ["name", 13],
    ],
  );
  assert.deepEqual(functionsOf(MODULE), [
    { name: "one", size: 2 },
    { name: "two", size: 5 },
  ]);
});

test("a function counts for the module it was written in, or for its crate", () => {
  const groups = {
    "<landfall[1f]::proto::client::Client>::settle": "landfall::proto::client",
    "landfall::proto::client::receive::<impl landfall::proto::client::Client>::feed::h73d92cc0db038101":
      "landfall::proto::client::receive",
    "landfall[1f]::web::exports::poll": "landfall::web::exports",
    "<landfall_wire[2e]::sse::Decoder>::feed": "landfall_wire::sse",
    "<f64 as core[12]::fmt::Display>::fmt": "core",
    "<&mut serde_wasm_bindgen[3]::Serializer as serde::Serializer>::serialize_str": "serde_wasm_bindgen",
    "create externref shim": "exports",
    "": "without a name",
  };
  for (const [name, group] of Object.entries(groups)) assert.equal(groupOf(name), group, name);
});
