// A page: the entry with the module in a file.
import { connect } from "landfall/url";
import { show } from "./show.mjs";

void show(connect);
