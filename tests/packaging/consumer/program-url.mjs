// A program: the entry with the module in a file.
import { connect } from "landfall/url";
import { run } from "./run.mjs";

await run(connect);
