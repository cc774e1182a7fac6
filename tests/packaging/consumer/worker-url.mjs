// A Worker: the entry with the module in a file.
import { connect } from "landfall/url";
import { respond } from "./respond.mjs";

export default { fetch: (request) => respond(connect, request) };
