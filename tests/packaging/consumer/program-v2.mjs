// A program: SDK 2's Client.
import { run } from "./run.mjs";
import { connect } from "./sdk-v2.mjs";

await run(connect);
