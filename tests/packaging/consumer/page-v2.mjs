// A page: SDK 2's Client.
import { connect } from "./sdk-v2.mjs";
import { show } from "./show.mjs";

void show(connect);
