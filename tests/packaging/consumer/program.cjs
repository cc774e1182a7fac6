const { connect } = require("landfall");
const { run } = require("./run.mjs");

void run(connect);
