// A page: the entry with the module inside.
import { connect } from "landfall";
import { show } from "./show.mjs";

void show(connect);
