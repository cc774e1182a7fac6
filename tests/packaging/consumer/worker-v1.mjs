import { respond } from "./respond.mjs";
import { connect } from "./sdk-v1.mjs";

export default { fetch: (request) => respond(connect, request) };
