// What a page needs to make a call by landfall: bundled, as a page has it.
import { connect } from "landfall";

export const open = (url) => connect(url);
export const call = (session) => session.callTool("bench", {}).result;
