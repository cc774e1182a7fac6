// A program of CommonJS: the entry without a module.
const { readFileSync } = require("node:fs");
const { connect, initializeWasm } = require("landfall/slim");
const { run } = require("./run.mjs");

void initializeWasm(readFileSync(require.resolve("landfall/landfall.wasm"))).then(() => run(connect));
