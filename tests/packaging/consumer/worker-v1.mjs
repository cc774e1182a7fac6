// A Worker: SDK 1's Client.
import { respond } from "./respond.mjs";
import { connect } from "./sdk-v1.mjs";

export default { fetch: (request) => respond(connect, request) };
