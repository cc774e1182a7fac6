// The crossing, on this side: reads what src/web/protocol.rs writes, into records that the rest of the wrapper reads.
import { timers } from "../base/timers.js";
import { asText, withSpec } from "./call-arguments.js";
import { createCore as createRaw } from "./core.js";
import { madeOf, requestOf, sentOf, Texts, withHead } from "./exchange.js";
import { parseMessages } from "./parse.js";
import type {
  Batch,
  Core,
  CoreOutput,
  CreateCore,
  MadeOutput,
  MessagesOutput,
  RareOutput,
  RawCore,
} from "./protocol.js";

// What an array begins with: how many numbers there are in all, where the text is and how long, how many rare outputs
// there are, and where the short texts are and how long.
const head = 6;

// Room for the bytes of a body is kept in the module if it is no larger; src/web/exports.rs knows this number, too.
const keptInput = 64 * 1024;
const leastInput = 4 * 1024;

const none: never[] = [];

// The first number of each record.
const rareRecord = 0;
const messageRecord = 1;
const progressRecord = 2;
const seamMessageRecord = 3;
const seamProgressRecord = 4;
const resultRecord = 5;
const openRecord = 6;
const readRecord = 7;
const abortRecord = 8;
const transmitRecord = 9;
const madeRecord = 10;
const sentRecord = 11;

/** Makes one instance of the module, whose exports give records. */
export const createCore: CreateCore = (module) => decoded(createRaw(module, timers));

/** The same exports with what they tell as records. */
export function decoded(raw: RawCore): Core {
  const reader = new Reader(raw);
  const batch = (handle: number, address: number): Batch | undefined =>
    address === 0 ? undefined : { outputs: reader.read(handle, address) };
  /** What was made or refused comes first, then what else is told. */
  const made = <Given>(handle: number, address: number): Given => {
    const outputs: (CoreOutput | RareOutput | MadeOutput)[] = reader.read(handle, address);
    const [first] = outputs;
    if (first?.out !== "made" && first?.out !== "refused") return { outputs } as Given;
    const { out: _out, ...given } = first;
    return { ...given, outputs: outputs.slice(1) } as Given;
  };
  return {
    create: (host, config, now) => JSON.parse(raw.create(host, asText(config), now)),
    connect: (handle, now) => made(handle, raw.connect(handle, now)),
    call: (handle, now, spec) => made(handle, withSpec(raw.call, handle, now, spec)),
    notify: (handle, now, method, params) => made(handle, raw.notify(handle, now, method, params)),
    terminate: (handle, now) => made(handle, raw.terminate(handle, now)),
    next_request_id: raw.next_request_id,
    is_reserved: raw.is_reserved,
    answer: (handle, now, body) => made(handle, raw.answer(handle, now, body)),
    cancel: (handle, now, call, reason) => batch(handle, raw.cancel(handle, now, call, reason)),
    authorized: (handle, now, ok) => batch(handle, raw.authorized(handle, now, ok)),
    declared: (handle, now, call, params) =>
      batch(handle, raw.declared(handle, now, call, JSON.stringify(params))),
    reconnect: (handle, now, call) => batch(handle, raw.reconnect(handle, now, call)),
    set_version: (handle, now, version) => batch(handle, raw.set_version(handle, now, version)),
    learn_secret: raw.learn_secret,
    handled: raw.handled,
    drain: (handle, now) => batch(handle, raw.drain(handle, now)),
    gap: (handle, now, call) => batch(handle, raw.gap(handle, now, call)),
    metrics: (handle, now, reset) => {
      const text = raw.metrics(handle, now, reset);
      return text === undefined ? undefined : JSON.parse(text);
    },
    close: (handle, now) => batch(handle, raw.close(handle, now)),
    sent: (handle, now, exchange) => batch(handle, raw.sent(handle, now, exchange)),
    head: (handle, now, exchange, head) => batch(handle, withHead(raw.head, handle, now, exchange, head)),
    push: (handle, now, exchange, bytes) => {
      reader.write(bytes);
      return batch(handle, raw.push(handle, now, exchange, bytes.length));
    },
    end: (handle, now, exchange) => batch(handle, raw.end(handle, now, exchange)),
    fail: (handle, now, exchange, message, code) =>
      batch(handle, raw.fail(handle, now, exchange, message, code)),
    poll: (handle, now) => batch(handle, raw.poll(handle, now)),
    destroy: raw.destroy,
    hold: raw.hold,
    retire: raw.retire,
  };
}

/** Reads what one instance tells, in its memory. */
class Reader {
  readonly #raw: RawCore;
  readonly #memory: WebAssembly.Memory;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  // Views of the memory, which are void when it has grown.
  #numbers = new Float64Array();
  #bytes = new Uint8Array();
  // The room for bytes of bodies.
  #inputAt = 0;
  #room = 0;

  constructor(raw: RawCore) {
    this.#raw = raw;
    this.#memory = raw.memory;
  }

  read(handle: number, address: number): CoreOutput[] {
    if (address === 0) return [];
    const start = address / 8;
    this.#look();
    // It has to be asked first: its own work may make the memory grow.
    if (this.#numbers[start + 3] === 0) return this.#records(start, none);
    const rare: RareOutput[] = JSON.parse(this.#raw.rare(handle));
    this.#look();
    return this.#records(start, rare);
  }

  /** Writes bytes of a body where the module takes them from. */
  write(bytes: Uint8Array): void {
    const { length } = bytes;
    if (length > this.#room) {
      let room = leastInput;
      while (room < length) room *= 2;
      this.#inputAt = this.#raw.room(room > keptInput ? length : room);
      this.#room = room > keptInput ? 0 : room;
    }
    this.#look();
    this.#bytes.set(bytes, this.#inputAt);
  }

  #look(): void {
    const { buffer } = this.#memory;
    if (this.#numbers.buffer === buffer) return;
    this.#numbers = new Float64Array(buffer);
    this.#bytes = new Uint8Array(buffer);
  }

  #records(start: number, rare: RareOutput[]): CoreOutput[] {
    const numbers = this.#numbers;
    const number = (place: number) => numbers[place] as number;
    const end = start + number(start);
    const messages = this.#messages(number(start + 1), number(start + 2));
    const texts = new Texts(this.#text(number(start + 4), number(start + 5)));
    const outputs: CoreOutput[] = [];
    let nextRare = 0;
    let at = start + head;
    while (at < end) {
      const record = number(at);
      switch (record) {
        case rareRecord:
          outputs.push(withMessage(rare[nextRare] as CoreOutput, messages));
          nextRare += 1;
          at += 1;
          break;
        case messageRecord:
        case progressRecord:
        case seamMessageRecord:
        case seamProgressRecord:
          outputs.push(this.#run(record, at, messages));
          at += 6;
          break;
        case resultRecord: {
          const [call, time, httpStatus] = [number(at + 1), number(at + 2), number(at + 4)];
          const message = messages[number(at + 3)];
          const answer = { out: "settle", call, at: time, type: "result", message } as const;
          outputs.push(httpStatus === 0 ? answer : { ...answer, httpStatus });
          at += 5;
          break;
        }
        case openRecord: {
          const [call, time, status] = [number(at + 1), number(at + 2), number(at + 3)];
          outputs.push({ out: "event", call, at: time, type: "open", status });
          at += 4;
          break;
        }
        case readRecord:
          outputs.push({ out: "read", exchange: number(at + 1), on: number(at + 2) === 1 });
          at += 3;
          break;
        case abortRecord:
          outputs.push({ out: "abort", exchange: number(at + 1) });
          at += 2;
          break;
        case transmitRecord: {
          const length = number(at + 7);
          const body = length === 0 ? undefined : this.#text(number(at + 6), length);
          outputs.push(requestOf(numbers, at, texts, body));
          at += 9 + 2 * number(at + 8);
          break;
        }
        case madeRecord:
          outputs.push(madeOf(numbers, at, texts) as never);
          at += 5;
          break;
        case sentRecord:
          outputs.push(sentOf(numbers, at, texts));
          at += 6;
          break;
        default:
          throw new Error(`the core tells a record of kind ${record}, which this wrapper does not know`);
      }
    }
    return outputs;
  }

  /** Messages in a row. */
  #run(record: number, place: number, among: unknown[]): MessagesOutput {
    const number = (offset: number) => this.#numbers[place + offset] as number;
    return {
      out: "messages",
      call: number(1) < 0 ? undefined : number(1),
      at: number(2),
      type: record === messageRecord || record === seamMessageRecord ? "message" : "progress",
      among,
      index: number(5),
      count: number(4),
      firstKey: number(3),
      seam: record === seamMessageRecord || record === seamProgressRecord,
    };
  }

  #messages(address: number, length: number): unknown[] {
    return length === 0 ? none : parseMessages(this.#text(address, length));
  }

  #text(address: number, length: number): string {
    return length === 0 ? "" : this.#decoder.decode(this.#bytes.subarray(address, address + length));
  }
}

function withMessage(output: CoreOutput, messages: unknown[]): CoreOutput {
  const index = (output as { message?: unknown }).message;
  return typeof index === "number" ? ({ ...output, message: messages[index] } as CoreOutput) : output;
}
