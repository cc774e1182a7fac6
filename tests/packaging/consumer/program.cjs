// A program of CommonJS: the entry with the module inside.
const { connect } = require("landfall");
const { run } = require("./run.mjs");

void run(connect);
