import { connect } from "./sdk-v2.mjs";
import { show } from "./show.mjs";

void show(connect);
