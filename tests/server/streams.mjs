// A call's event stream: what was sent is stored, so that a resume can replay it.

const data = (text) =>
  text
    .split("\n")
    .map((line) => `data: ${line}\n`)
    .join("");

export class Stream {
  /** Events in the order they were made: `{ id?, block }`; `block` is absent where only the id counts. */
  #events = [];
  #positions = new Map();
  #connection;
  #stalled;
  #waiters = [];
  #finished = false;

  ids = true;
  nextId;
  cutInside;
  /** Sent at the head of every resumed connection: `{ retry? }`. */
  priming;
  /** What the next resumes get instead of a replay, in order. */
  refusals = [];
  /** `"takeover"`, `"409"` or `"replay"`: what a resume gets while the old body is still held. */
  whileHeld = "takeover";
  replayFrom;
  replaySkip = 0;
  evicted;

  constructor(name, key) {
    this.name = name;
    this.key = key;
  }

  get finished() {
    return this.#finished;
  }

  get attached() {
    return this.#connection !== undefined;
  }

  get held() {
    return this.attached || this.#stalled?.open === true;
  }

  has(id) {
    return this.#positions.has(id);
  }

  /** One event with data. It is stored first: a cut loses bytes, never the event. */
  async send(text) {
    const id = this.#mint();
    const block = `${id === undefined ? "" : `id: ${id}\n`}event: message\n${data(text)}\n`;
    this.#store(id, block);
    if (this.cutInside === undefined) return this.#connection?.write(block);
    const how = this.cutInside;
    this.cutInside = undefined;
    await this.#connection?.write(block.slice(0, Math.ceil(block.length / 2)));
    this.cut(how, "inside");
  }

  /** An id with an empty data field, as the official servers begin a stream. */
  async prime(retry) {
    const id = this.#mint();
    this.#store(id);
    await this.#connection?.write(primingBlock(id, retry));
  }

  async idOnly() {
    const id = this.#mint();
    this.#store(id);
    await this.#connection?.write(`id: ${id}\n\n`);
  }

  /** Bytes that belong to no event; lost if nobody is connected. */
  async raw(bytes) {
    await this.#connection?.write(bytes);
  }

  async duplicate(count) {
    for (const { block } of this.#events.filter((event) => event.block).slice(-count)) {
      await this.#connection?.write(block);
    }
  }

  attach(connection) {
    if (this.#connection) this.#connection.end();
    this.#connection = connection;
    connection.onclose = () => {
      if (this.#connection === connection) this.#connection = undefined;
    };
    for (const wake of this.#waiters.splice(0)) wake();
  }

  /** Replays what came after `id` and goes on live. */
  resume(id, connection) {
    this.attach(connection);
    this.replay(id, connection);
    if (this.#finished) this.#detach()?.end();
  }

  /** Sends all of it from its first event, to whoever repeats the request, and goes on live. */
  restart(connection) {
    this.attach(connection);
    this.#rewrite(0, connection);
    if (this.#finished) this.#detach()?.end();
  }

  replay(id, connection) {
    const from = this.replayFrom ?? this.#positions.get(id) + 1 + this.replaySkip;
    this.replayFrom = undefined;
    this.replaySkip = 0;
    if (this.priming) connection.write(primingBlock(id, this.priming.retry));
    this.#rewrite(from, connection);
  }

  /** Resolves when a client is connected, at once if one is. */
  connected(signal) {
    if (this.attached) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#waiters.push(resolve);
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
  }

  cut(how, name) {
    this.#detach()?.cut(how, name);
  }

  close() {
    this.#detach()?.end();
  }

  /** The socket stays open and gets no byte any more: half-open, as seen from the client. */
  stall() {
    this.#stalled = this.#detach();
  }

  /** No more events; whoever has them all is disconnected. */
  finish() {
    this.#finished = true;
    this.close();
  }

  drop(how) {
    this.#stalled?.cut(how);
    this.cut(how);
  }

  #detach() {
    const connection = this.#connection;
    this.#connection = undefined;
    return connection;
  }

  #rewrite(from, connection) {
    for (const { block } of this.#events.slice(from)) {
      if (block) connection.write(block);
    }
  }

  #mint() {
    const id = this.nextId ?? (this.ids ? `${this.name}/${this.#events.length + 1}` : undefined);
    this.nextId = undefined;
    return id;
  }

  #store(id, block) {
    this.#events.push({ id, block });
    if (id !== undefined) this.#positions.set(id, this.#events.length - 1);
  }
}

function primingBlock(id, retry) {
  return `id: ${id}\n${retry === undefined ? "" : `retry: ${retry}\n`}data:\n\n`;
}
