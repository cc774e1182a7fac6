// A program: SDK 1's Client.
import { run } from "./run.mjs";
import { connect } from "./sdk-v1.mjs";

await run(connect);
