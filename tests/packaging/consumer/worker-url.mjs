import { connect } from "landfall/url";
import { respond } from "./respond.mjs";

export default { fetch: (request) => respond(connect, request) };
