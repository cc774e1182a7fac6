import { respond } from "./respond.mjs";
import { connect } from "./sdk-v2.mjs";

export default { fetch: (request) => respond(connect, request) };
