// A program: the entry with the module inside.
import { connect } from "landfall";
import { run } from "./run.mjs";

await run(connect);
