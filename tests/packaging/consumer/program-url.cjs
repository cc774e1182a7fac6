// A program of CommonJS: the entry with the module in a file.
const { connect } = require("landfall/url");
const { run } = require("./run.mjs");

void run(connect);
