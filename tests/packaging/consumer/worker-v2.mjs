// A Worker: SDK 2's Client.
import { respond } from "./respond.mjs";
import { connect } from "./sdk-v2.mjs";

export default { fetch: (request) => respond(connect, request) };
