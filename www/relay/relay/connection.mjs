// One connection of a client's that carries a stream.
const HEARTBEAT_MS = 15_000;
// After a polite close the client is to come back at once.
const RETRY_MS = 200;

const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

/**
 * A body that is read as fast as the client takes it: what waits is in the store, not here. `stream` is what it carries,
 * `source` reads that: `after(event)` gives what is to be written, as `{ event, id, text }`, `prime` the id of an empty
 * event to begin with. `ended(how)` is told once: `told`, `polite`, `gone`, or why it was closed.
 */
export class Connection {
  #stream;
  #source;
  #clock;
  #ended;
  #at;
  #openedAt;
  #encoder = new TextEncoder();
  #wake = () => {};
  #isAwake = false;
  #over;
  #mostMs;
  // When the client was last seen to want more; nothing while it waits for it.
  #wantedAt;

  constructor({ stream, source, after, clock, mostMs, ended }) {
    this.#stream = stream;
    this.#source = source;
    this.#clock = clock;
    this.#ended = ended;
    this.#at = after;
    this.#mostMs = mostMs;
    this.#openedAt = this.#wantedAt = clock.now();
  }

  /** Milliseconds since it was opened. */
  get age() {
    return this.#clock.now() - this.#openedAt;
  }

  response(headers = {}) {
    const body = new ReadableStream(
      {
        start: (controller) => controller.enqueue(this.#encoder.encode(this.#opening())),
        pull: (controller) => this.#pull(controller),
        cancel: () => this.#end("gone"),
      },
      { highWaterMark: 0 },
    );
    return new Response(body, { headers: { ...HEADERS, ...headers } });
  }

  /** There was something for it for so long, and nobody took it: a client may leave without a word. */
  isStalled(ms) {
    return this.#wantedAt !== undefined && this.#clock.now() - this.#wantedAt >= ms;
  }

  /** There is something new, or there will be nothing more. */
  wake() {
    this.#isAwake = true;
    this.#wake();
  }

  /** Another connection carries the stream from here on, or none does. */
  close(how) {
    this.#end(how);
  }

  /** An empty event, so that the stream can be resumed before its first; a comment for those who know no such thing. */
  #opening() {
    const { prime } = this.#source;
    return prime === undefined ? ": \n\n" : `id: ${prime}\ndata: \n\n`;
  }

  async #pull(controller) {
    this.#wantedAt = undefined;
    await this.#fill(controller);
    this.#wantedAt = this.#clock.now();
  }

  async #fill(controller) {
    while (this.#over === undefined) {
      const blocks = this.#next();
      if (blocks !== "") return controller.enqueue(this.#encoder.encode(blocks));
      if (this.#stream.isOver) this.#end("told");
      else if (this.#isTooOld()) {
        controller.enqueue(this.#encoder.encode(`retry: ${RETRY_MS}\n\n`));
        this.#end("polite");
      } else if (!(await this.#changed())) {
        if (this.#over === undefined) return controller.enqueue(this.#encoder.encode(": \n\n"));
      }
    }
    // Who has gone has closed it.
    if (this.#over !== "gone") controller.close();
  }

  #next() {
    this.#isAwake = false;
    const events = this.#source.after(this.#at);
    if (events.length === 0) return "";
    this.#at = events.at(-1).event;
    this.#stream.told = Math.max(this.#stream.told, this.#at);
    return events.map(({ id, text }) => (text === undefined ? "" : `id: ${id}\ndata: ${text}\n\n`)).join("");
  }

  /** A client can come back only with an id. */
  #isTooOld() {
    return this.age >= this.#mostMs && (this.#source.prime !== undefined || this.#at > 0);
  }

  /** Whether something changed before it was time for a sign of life. */
  #changed() {
    if (this.#isAwake) return true;
    return new Promise((resolve) => {
      const stop = this.#clock.after(HEARTBEAT_MS, () => done(false));
      const done = (changed) => {
        stop();
        this.#wake = () => {};
        resolve(changed);
      };
      this.#wake = () => done(true);
    });
  }

  #end(how) {
    if (this.#over !== undefined) return;
    this.#over = how;
    this.#ended(how);
    this.#wake();
  }
}
