// A page: SDK 1's Client.
import { connect } from "./sdk-v1.mjs";
import { show } from "./show.mjs";

void show(connect);
