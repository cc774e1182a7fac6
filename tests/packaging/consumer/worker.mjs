// A Worker: the entry with the module inside.
import { connect } from "landfall";
import { respond } from "./respond.mjs";

export default { fetch: (request) => respond(connect, request) };
