// The streams of a session: what was told on each, kept until nobody can need it any more.
import {
  eventId,
  eventOfRow,
  eventRow,
  HEADS_END,
  headRow,
  isSpent,
  readEventId,
  split,
  streamOfHead,
} from "./numbers.mjs";
import { Refusal } from "./refusal.mjs";

// Numbers are reserved by so many, so that not each stream costs a write.
const RESERVED = 64;
// What is read at once: so many events, or characters.
const PAGE = 64;
const PAGE_SIZE = 256 * 1024;
const LOADED = 8;
const notKept = () => new Refusal(400, -32602, "the events behind this Last-Event-ID are not kept");

/** One stream: the events behind one POST, or those that belong to none. */
export class Stream {
  /** The connection that carries it, where there is one. */
  connection;
  /** When the last one went, or when there came to be none. */
  goneAt;
  /** The last event, and the first that is kept. */
  last = 0;
  first = 1;
  /** The last event that was written to a connection. */
  told = 0;
  bytes = 0;
  /** There will be no more. */
  isOver = false;
  /** What is long of each event that is kept. */
  sizes = [];

  constructor(number, head, now) {
    this.number = number;
    this.head = head;
    this.goneAt = now;
  }
}

/** All streams of a session, in its store. */
export class Streams {
  /** Bytes of what is kept. */
  bytes = 0;
  #store;
  #clock;
  #all = new Map();
  #tag;
  #next = 1;
  #reserved = 1;

  constructor(store, clock) {
    this.#store = store;
    this.#clock = clock;
  }

  get all() {
    return [...this.#all.values()];
  }

  get tag() {
    this.#tag ??= this.#store.fact("tag");
    return this.#tag;
  }

  /** What was kept before this object was made. `read` is told of each event: its stream, note, number and text. */
  load(read) {
    this.#next = Number(this.#store.fact("next") ?? 1);
    this.#reserved = this.#next;
    for (const { id, text } of joined(this.#store, 0, HEADS_END)) {
      const stream = new Stream(streamOfHead(id), JSON.parse(text), this.#clock.now());
      this.#all.set(stream.number, stream);
    }
    for (const stream of this.#all.values()) this.#loadEvents(stream, read);
  }

  #loadEvents(stream, read) {
    const { number } = stream;
    for (const { id, note, text } of joined(this.#store, eventRow(number, 0), eventRow(number + 1, 0))) {
      const event = eventOfRow(id);
      if (stream.last === 0) stream.first = event;
      this.#count(stream, text.length);
      stream.last = event;
      read(stream, note, event, text);
    }
    if (stream.last === 0) stream.last = Number(stream.head.freed ?? 0);
    if (stream.sizes.length === 0) stream.first = stream.last + 1;
  }

  /** A new stream. Within a transaction. */
  open(head) {
    const number = this.#next;
    if (isSpent(number)) throw new Refusal(404, -32001, "this session has had its streams");
    if (number >= this.#reserved) {
      this.#reserved = number + RESERVED;
      this.#store.setFact("next", String(this.#reserved));
    }
    this.#next += 1;
    const stream = new Stream(number, head, this.#clock.now());
    this.#write((part) => headRow(number, part), {}, JSON.stringify(head));
    this.#all.set(number, stream);
    return stream;
  }

  /** A stream has another head. Within a transaction. */
  rewrite(stream, head) {
    stream.head = head;
    const { number } = stream;
    this.#store.remove(headRow(number), headRow(number + 1));
    this.#write((part) => headRow(number, part), {}, JSON.stringify(head));
  }

  /** Keeps events, `{ stream, note, text }` each, in one transaction with what else `also` does, and then tells them. */
  commit(events, also = () => {}) {
    const lasts = new Map(events.map(({ stream }) => [stream, stream.last]));
    try {
      this.#store.transaction(() => {
        for (const { stream, note, text } of events) {
          const event = ++stream.last;
          if (isSpent(event)) throw new Error("a stream has had its events");
          this.#write((part) => eventRow(stream.number, event, part), note, text);
        }
        also();
      });
    } catch (thrown) {
      for (const [stream, last] of lasts) stream.last = last;
      throw thrown;
    }
    for (const { stream, text } of events) this.#count(stream, text.length);
    for (const stream of lasts.keys()) stream.connection?.wake();
  }

  #write(row, note, text) {
    const parts = split(text);
    const noted = JSON.stringify(parts.length === 1 ? note : { ...note, parts: parts.length });
    for (const [part, piece] of parts.entries()) this.#store.put(row(part), part === 0 ? noted : "", piece);
  }

  #count(stream, size) {
    stream.sizes.push(size);
    stream.bytes += size;
    this.bytes += size;
  }

  /** The events behind one, as many as fit into a page: `{ event, note, text }` each. */
  after(stream, given) {
    const event = Math.max(given, stream.first - 1);
    const { number, sizes, first } = stream;
    let [next, size] = [event + 1, 0];
    while (next <= stream.last && next - event <= PAGE && size < PAGE_SIZE) {
      size += sizes[next - first];
      next += 1;
    }
    if (next === event + 1) return [];
    const rows = page(this.#store, eventRow(number, event + 1), eventRow(number, next), PAGE);
    return rows.map(({ id, note, text }) => ({ event: eventOfRow(id), note, text }));
  }

  idOf(stream, event) {
    return eventId(this.tag, stream.number, event);
  }

  /** The stream that an id names, and the event. Throws a Refusal where what comes behind is not kept. */
  find(id) {
    const place = readEventId(this.tag, id);
    const stream = place && this.#all.get(place.stream);
    if (stream === undefined || stream.head.gone) throw notKept();
    if (place.event > stream.last || place.event < stream.first - 1) throw notKept();
    return { stream, event: place.event };
  }

  /** The events up to one are not needed any more. */
  free(stream, event) {
    const count = event - stream.first + 1;
    if (count <= 0) return;
    this.#store.transaction(() => {
      this.#store.remove(eventRow(stream.number, 0), eventRow(stream.number, event + 1));
      // Numbers are used once, also where none of its events is left.
      if (event === stream.last) this.rewrite(stream, { ...stream.head, freed: event });
    });
    const freed = stream.sizes.splice(0, count).reduce((sum, size) => sum + size, 0);
    stream.first = event + 1;
    stream.bytes -= freed;
    this.bytes -= freed;
  }

  /** Nothing of a stream is needed any more, but for the `rest` of its head, where there is one. */
  forget(stream, rest) {
    const { number } = stream;
    this.#store.transaction(() => {
      this.#store.remove(eventRow(number, 0), eventRow(number + 1, 0));
      if (rest === undefined) this.#store.remove(headRow(number), headRow(number + 1));
      else this.rewrite(stream, { ...rest, gone: true });
    });
    this.bytes -= stream.bytes;
    stream.bytes = 0;
    stream.sizes = [];
    if (rest === undefined) this.#all.delete(number);
  }
}

/** Rows of one page, with their parts joined. */
function page(store, from, to, limit) {
  const rows = [];
  for (const row of store.rows(from, to, limit)) {
    if (row.note === "") continue;
    const note = JSON.parse(row.note);
    const { id } = row;
    if (note.parts === undefined) rows.push({ id, note, text: row.text });
    // Beside others it would be too much at once.
    else if (rows.length > 0) break;
    else return [{ id, note, text: whole(store, id, note.parts) }];
  }
  return rows;
}

function whole(store, id, parts) {
  return store
    .rows(id, id + parts, parts)
    .map(({ text }) => text)
    .join("");
}

function* joined(store, from, to) {
  for (let next = from; ; ) {
    const rows = page(store, next, to, LOADED);
    if (rows.length === 0) return;
    yield* rows;
    const { id, note } = rows.at(-1);
    next = id + (note.parts ?? 1);
  }
}
