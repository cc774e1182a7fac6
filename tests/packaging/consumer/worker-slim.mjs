// A Worker: the entry without a module.
import module from "landfall/landfall.wasm";
import { connect, initializeWasm } from "landfall/slim";
import { respond } from "./respond.mjs";

void initializeWasm(module);
export default { fetch: (request) => respond(connect, request) };
