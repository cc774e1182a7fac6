// Follows the bytes of one direction of an HTTP/1.1 connection, so that the proxy knows at each byte whether it is in
// a head, in a body or between messages. It changes nothing.

const CR = 0x0d;
const LF = 0x0a;

export class HttpReader {
  #state = "head";
  #line = [];
  #lines = [];
  #left = 0;

  /** `{ onHead(lines), onBody(byte), onEnd(), bodyless(lines) }`: `bodyless` says if such a head never has a body. */
  constructor(handlers) {
    this.handlers = handlers;
  }

  /** Takes one byte. */
  push(byte) {
    switch (this.#state) {
      case "head":
        return this.#onLine(byte, (line) => this.#headLine(line));
      case "length":
        return this.#bodyByte(byte, () => this.#end());
      case "size":
        return this.#onLine(byte, (line) => this.#chunk(parseInt(line, 16)));
      case "chunk":
        return this.#bodyByte(byte, () => this.#become("chunk end"));
      case "chunk end":
        return this.#onLine(byte, () => this.#become("size"));
      case "trailer":
        return this.#onLine(byte, (line) => line === "" && this.#end());
      default:
        return this.handlers.onBody(byte);
    }
  }

  #become(state) {
    this.#state = state;
  }

  #onLine(byte, done) {
    if (byte === LF) {
      const line = Buffer.from(this.#line).toString("latin1");
      this.#line = [];
      done(line);
    } else if (byte !== CR) {
      this.#line.push(byte);
    }
  }

  #headLine(line) {
    if (line !== "") {
      this.#lines.push(line);
      return;
    }
    const lines = this.#lines;
    this.#lines = [];
    if (lines.length === 0) return;
    this.handlers.onHead(lines);
    const length = Number(fieldOf(lines, "content-length") ?? 0);
    if (this.handlers.bodyless(lines)) this.#end();
    else if (/chunked/i.test(fieldOf(lines, "transfer-encoding") ?? "")) this.#become("size");
    else if (length > 0) {
      this.#left = length;
      this.#become("length");
    } else if (fieldOf(lines, "content-length") !== undefined || isRequest(lines)) this.#end();
    else this.#become("until close");
  }

  #chunk(size) {
    this.#left = size;
    this.#become(size === 0 ? "trailer" : "chunk");
  }

  #bodyByte(byte, done) {
    this.#left -= 1;
    const last = this.#left === 0;
    this.handlers.onBody(byte);
    if (last) done();
  }

  #end() {
    this.#become("head");
    this.handlers.onEnd();
  }
}

const isRequest = (lines) => !lines[0].startsWith("HTTP/");

export function fieldOf(lines, name) {
  const start = `${name}:`;
  const line = lines.find((text) => text.toLowerCase().startsWith(start));
  return line?.slice(start.length).trim();
}
