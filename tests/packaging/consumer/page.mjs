import { connect } from "landfall";
import { show } from "./show.mjs";

void show(connect);
