// What a test of the drop-in opens, and closes when it ends.
import { setTimeout as sleep } from "node:timers/promises";
import { serveEra } from "./server.mjs";
import { createTransport } from "./transports.mjs";

const CLOSE_MS = 2_000;

/** What a test has open. All of it is closed when the test ends, however that is, and the last thing first. */
export class Stage {
  #open = [];

  constructor(t) {
    t.after(() => this.#close());
  }

  async serve(era, faults) {
    return this.keep(await serveEra(era, faults));
  }

  /** A session of `client`, and its `transport`. `more` is for the client itself. */
  async open(client, { url }, options = {}, more = {}) {
    const transport = createTransport(client, url, options);
    return this.keep({ ...(await client.open(transport, more)), transport });
  }

  keep(closable) {
    this.#open.push(closable);
    return closable;
  }

  async #close() {
    for (const each of this.#open.reverse()) {
      // Not all that is open comes back from this.
      await Promise.race([each.close().catch(() => {}), sleep(CLOSE_MS)]);
    }
  }
}
