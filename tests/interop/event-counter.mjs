// Counts the events of an event stream, byte by byte: where one ends, its id, and whether it has data.

const CR = 0x0d;
const LF = 0x0a;

export class EventCounter {
  #line = [];
  #afterCr = false;
  #id;
  #data = 0;
  #bytes = 0;

  /** `onEvent({ id, data })` at the last byte of each event's blank line; `data` is the number of its data bytes. */
  constructor(onEvent) {
    this.onEvent = onEvent;
  }

  /** Bytes of data of the event that is under way; the cut "inside" waits for some. */
  get dataSoFar() {
    const text = this.#line.length > 6 && Buffer.from(this.#line.slice(0, 5)).toString("latin1");
    return this.#data + (text === "data:" ? this.#line.length - 6 : 0);
  }

  /** Between the first byte of an event and the end of its blank line. */
  get inside() {
    return this.#bytes > 0;
  }

  /** Between two events, and not between the CR and the LF that end one. */
  get between() {
    return !this.inside && !this.#afterCr;
  }

  push(byte) {
    if (byte === LF && this.#afterCr) {
      this.#afterCr = false;
      return;
    }
    this.#afterCr = byte === CR;
    this.#bytes += 1;
    if (byte !== CR && byte !== LF) {
      this.#line.push(byte);
      return;
    }
    const line = Buffer.from(this.#line).toString("utf8");
    this.#line = [];
    if (line === "") this.#blank();
    else if (line.startsWith("id:")) this.#id = line.slice(3).trim();
    else if (line.startsWith("data:")) this.#data += line.length - 6;
  }

  #blank() {
    const event = { id: this.#id, data: this.#data };
    this.#id = undefined;
    this.#data = 0;
    this.#bytes = 0;
    this.onEvent(event);
  }
}
