// A page: the entry without a module.
import { connect, initializeWasm } from "landfall/slim";
import { show } from "./show.mjs";

void initializeWasm(fetch("landfall.wasm"));
void show(connect);
