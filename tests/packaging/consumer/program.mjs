import { connect } from "landfall";
import { run } from "./run.mjs";

await run(connect);
