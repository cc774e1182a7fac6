const { connect } = require("landfall/url");
const { run } = require("./run.mjs");

void run(connect);
