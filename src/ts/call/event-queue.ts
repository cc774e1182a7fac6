// The events of a call as loops take them: one by one, or as many as are there.
import type { CallEvent } from "../api/events.js";
import type { Acks } from "./ack.js";

const keptUnheard = 1_000;

// biome-ignore lint/suspicious/noExplicitAny: an event, or several, as the loop takes them
type Done = IteratorResult<any, undefined>;

const over = (): Done => ({ done: true, value: undefined });

/** One loop's `next()` that waits for an event. */
interface Waiting {
  loop: Loop;
  give(done: Done): void;
}

/** One loop over a queue. It has done with what it got when it asks for more, or is left. */
class Loop implements AsyncIterator<unknown, undefined> {
  /** It takes all that is there at once. */
  readonly isBatch: boolean;
  hasBegun = false;
  /** It was given the outcome. */
  isTold = false;
  readonly #queue: EventQueue;
  // What it holds.
  readonly #keys: number[] = [];
  #isLeft = false;

  constructor(queue: EventQueue, isBatch: boolean) {
    this.#queue = queue;
    this.isBatch = isBatch;
  }

  next(): Promise<Done> {
    this.release();
    return this.#isLeft ? Promise.resolve(over()) : this.#queue.next(this);
  }

  return(): Promise<Done> {
    this.#isLeft = true;
    this.release();
    this.#queue.leave(this);
    return Promise.resolve(over());
  }

  hold(key: number): void {
    if (key !== 0) this.#keys.push(key);
  }

  release(): void {
    const keys = this.#keys;
    if (keys.length === 0) return;
    for (const key of keys) this.#queue.done(key);
    keys.length = 0;
  }
}

/**
 * The events of one call: a queue that several loops may share. While nobody listens (before the first `next()`, and
 * after the last loop was left) it keeps the last 1 000 and counts what it drops. The outcome comes last, to every loop,
 * also to one that begins when others are through with it.
 */
export class EventQueue {
  // Waiting for it is cheaper than a microtask of the runtime's. None is made at module scope: it would be of no request.
  readonly #settled = Promise.resolve();
  // An event and the key by which it is to be told as handled, or 0, have the same place in both.
  readonly #events: (CallEvent | undefined)[] = [];
  readonly #keys: number[] = [];
  // The first not yet taken: shifting a long array moves all of it.
  #head = 0;
  readonly #waiting: Waiting[] = [];
  readonly #loops = new Set<Loop>();
  #acks: Acks | undefined;
  #outcome: CallEvent | undefined;
  #dropped = 0;

  /** A loop has begun and was not left. */
  get isHeard(): boolean {
    return this.#loops.size > 0;
  }

  get #isEmpty(): boolean {
    return this.#head === this.#events.length;
  }

  /** One event. Where it has a key, its acks are told when a loop has done with it, or when nobody is left who could. */
  push(event: CallEvent, acks?: Acks, key = 0): void {
    if (acks !== undefined) this.#acks = acks;
    const first = this.#waiting[0];
    if (first !== undefined && !first.loop.isBatch && this.#isEmpty) {
      this.#waiting.shift();
      this.#hand(first, event, key);
      return;
    }
    const isFirst = this.#isEmpty;
    this.#events.push(event);
    this.#keys.push(key);
    // What comes in one turn is one batch.
    if (first !== undefined && isFirst) void this.#settled.then(() => this.#serve());
    if (this.isHeard) return;
    while (this.#events.length - this.#head > keptUnheard) {
      this.#shift();
      this.#dropped += 1;
    }
  }

  /** A loop has done with an event. */
  done(key: number): void {
    this.#acks?.done(key, true);
  }

  /** The outcome: the last event. */
  end(outcome: CallEvent): void {
    this.#serve((loop) => !loop.isBatch);
    this.#outcome = outcome;
    const waiting = this.#waiting.splice(0);
    const waits = new Set(waiting.map(({ loop }) => loop));
    for (const { loop, give } of waiting) give(waits.delete(loop) ? this.#tell(loop, outcome) : over());
  }

  /** A loop over single events. */
  one(): AsyncIterator<CallEvent, undefined> {
    return new Loop(this, false) as AsyncIterator<CallEvent, undefined>;
  }

  /** A loop over all that is there each time. */
  batches(): AsyncIterator<CallEvent[], undefined> {
    return new Loop(this, true) as AsyncIterator<CallEvent[], undefined>;
  }

  /** What a loop gets when it asks. */
  next(loop: Loop): Promise<Done> {
    if (!loop.hasBegun) {
      loop.hasBegun = true;
      this.#loops.add(loop);
    }
    if (!this.#isEmpty)
      return Promise.resolve({ done: false, value: loop.isBatch ? this.#all(loop) : this.#one(loop) });
    if (this.#outcome !== undefined)
      return Promise.resolve(loop.isTold ? over() : this.#tell(loop, this.#outcome));
    return new Promise((give) => this.#waiting.push({ loop, give }));
  }

  /** A loop was left. After the last one, what waits for a loop waits for nobody. */
  leave(loop: Loop): void {
    this.#loops.delete(loop);
    const own = this.#waiting.filter((each) => each.loop === loop);
    for (const each of own) {
      this.#waiting.splice(this.#waiting.indexOf(each), 1);
      each.give(over());
    }
    if (this.isHeard) return;
    for (let at = this.#head; at < this.#keys.length; at += 1) {
      const key = this.#keys[at] as number;
      this.#keys[at] = 0;
      if (key !== 0) this.done(key);
    }
  }

  /** Gives those that wait what is there, from the first on, as long as they are to have it. */
  #serve(isToHave: (loop: Loop) => boolean = () => true): void {
    while (!this.#isEmpty) {
      const first = this.#waiting[0];
      if (first === undefined || !isToHave(first.loop)) return;
      this.#waiting.shift();
      const { loop, give } = first;
      give({ done: false, value: loop.isBatch ? this.#all(loop) : this.#one(loop) });
      if (this.#isWaiting(loop)) loop.release();
    }
  }

  #tell(loop: Loop, outcome: CallEvent): Done {
    if (loop.isBatch) return { done: false, value: this.#all(loop) };
    loop.isTold = true;
    return { done: false, value: outcome };
  }

  #hand({ loop, give }: Waiting, event: CallEvent, key: number): void {
    give({ done: false, value: event });
    // A loop that waits once more has asked for the next event already.
    if (!this.#isWaiting(loop)) loop.hold(key);
    else if (key !== 0) this.done(key);
  }

  #isWaiting(loop: Loop): boolean {
    return this.#waiting.some((each) => each.loop === loop);
  }

  /** The next event, with what was dropped before it told first. */
  #one(loop: Loop): CallEvent | undefined {
    const warning = this.#dropped === 0 ? undefined : this.#reportDropped();
    if (warning !== undefined) return warning;
    loop.hold(this.#keys[this.#head] as number);
    return this.#shift();
  }

  /** All there is, the outcome too. */
  #all(loop: Loop): CallEvent[] {
    const events: CallEvent[] = [];
    const warning = this.#dropped === 0 ? undefined : this.#reportDropped();
    if (warning !== undefined) events.push(warning);
    for (let at = this.#head; at < this.#events.length; at += 1) {
      events.push(this.#events[at] as CallEvent);
      loop.hold(this.#keys[at] as number);
    }
    this.#events.length = 0;
    this.#keys.length = 0;
    this.#head = 0;
    if (this.#outcome !== undefined) {
      events.push(this.#outcome);
      loop.isTold = true;
    }
    return events;
  }

  #shift(): CallEvent | undefined {
    const event = this.#events[this.#head];
    // Nobody knows how large it is.
    this.#events[this.#head] = undefined;
    this.#head += 1;
    if (this.#isEmpty || this.#head === keptUnheard) {
      this.#events.splice(0, this.#head);
      this.#keys.splice(0, this.#head);
      this.#head = 0;
    }
    return event;
  }

  #reportDropped(): CallEvent | undefined {
    const next = this.#events[this.#head];
    if (next === undefined) return undefined;
    const message = `${this.#dropped} earlier events were dropped, for nobody listened`;
    this.#dropped = 0;
    return { type: "warning", code: "events_dropped", message, at: next.at, requestId: next.requestId };
  }
}
