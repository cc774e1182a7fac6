import { connect } from "landfall/url";
import { show } from "./show.mjs";

void show(connect);
