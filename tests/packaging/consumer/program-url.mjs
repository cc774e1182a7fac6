import { connect } from "landfall/url";
import { run } from "./run.mjs";

await run(connect);
