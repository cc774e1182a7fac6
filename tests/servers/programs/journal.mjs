// What a tool did is a line of a file: a server that is killed forgets nothing, and one behind a gateway can tell, too.
import { appendFileSync } from "node:fs";

/** `what` is "ran" or "cancelled". */
export const note = (what, key) =>
  appendFileSync(process.env.SERVERS_JOURNAL, `${JSON.stringify({ what, key })}\n`);
