// The events of a call as loops take them.
import type { CallEvent } from "../api/events.js";

const keptUnheard = 1_000;

type Done = IteratorResult<CallEvent, undefined>;

const over = (): Done => ({ done: true, value: undefined });

interface Entry {
  event: CallEvent;
  /** To be called once a loop has done with the event. */
  taken: (() => void) | undefined;
}

/** One loop's `next()` that waits for an event. */
interface Waiting {
  loop: Loop;
  give(done: Done): void;
}

/** One loop over a queue. It has done with an event when it asks for the next one, or is left. */
class Loop implements AsyncIterator<CallEvent, undefined> {
  /** It was given the outcome. */
  isTold = false;
  readonly #queue: EventQueue;
  #held: (() => void) | undefined;
  #isLeft = false;

  constructor(queue: EventQueue) {
    this.#queue = queue;
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

  hold(taken: (() => void) | undefined): void {
    this.#held = taken;
  }

  release(): void {
    const held = this.#held;
    this.#held = undefined;
    held?.();
  }
}

/**
 * The events of one call: a queue that several loops may share. While nobody listens (before the first `next()`, and
 * after the last loop was left) it keeps the last 1 000 and counts what it drops. The outcome comes last, to every loop,
 * also to one that begins when others are through with it.
 */
export class EventQueue implements AsyncIterable<CallEvent> {
  readonly #entries: Entry[] = [];
  // The first entry not yet taken: shifting a long array moves all of it.
  #head = 0;
  readonly #waiting: Waiting[] = [];
  readonly #loops = new Set<Loop>();
  #outcome: CallEvent | undefined;
  #dropped = 0;

  /** A loop has begun and was not left. */
  get isHeard(): boolean {
    return this.#loops.size > 0;
  }

  /** One event. `taken` is called when a loop has done with it, or when nobody is left who could. */
  push(event: CallEvent, taken?: () => void): void {
    const waiting = this.#waiting.shift();
    if (waiting !== undefined) {
      this.#hand(waiting, { event, taken });
      return;
    }
    this.#entries.push({ event, taken });
    if (this.isHeard) return;
    while (this.#entries.length - this.#head > keptUnheard) {
      this.#shift();
      this.#dropped += 1;
    }
  }

  /** The outcome: the last event. */
  end(outcome: CallEvent): void {
    this.#outcome = outcome;
    const waiting = this.#waiting.splice(0);
    const waits = new Set(waiting.map(({ loop }) => loop));
    for (const { loop, give } of waiting) give(waits.delete(loop) ? this.#tell(loop, outcome) : over());
  }

  [Symbol.asyncIterator](): AsyncIterator<CallEvent, undefined> {
    return new Loop(this);
  }

  /** What a loop gets when it asks. */
  next(loop: Loop): Promise<Done> {
    this.#loops.add(loop);
    const warning = this.#reportDropped();
    if (warning !== undefined) return Promise.resolve({ done: false, value: warning });
    const entry = this.#shift();
    if (entry !== undefined) {
      loop.hold(entry.taken);
      return Promise.resolve({ done: false, value: entry.event });
    }
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
    for (const entry of this.#entries.slice(this.#head)) {
      entry.taken?.();
      entry.taken = undefined;
    }
  }

  #tell(loop: Loop, outcome: CallEvent): Done {
    loop.isTold = true;
    return { done: false, value: outcome };
  }

  #hand({ loop, give }: Waiting, { event, taken }: Entry): void {
    give({ done: false, value: event });
    // A loop that waits once more has asked for the next event already.
    if (this.#waiting.some((each) => each.loop === loop)) taken?.();
    else loop.hold(taken);
  }

  #shift(): Entry | undefined {
    const entry = this.#entries[this.#head];
    if (entry === undefined) return undefined;
    this.#head += 1;
    if (this.#head === this.#entries.length || this.#head === keptUnheard) {
      this.#entries.splice(0, this.#head);
      this.#head = 0;
    }
    return entry;
  }

  #reportDropped(): CallEvent | undefined {
    const next = this.#entries[this.#head]?.event;
    if (this.#dropped === 0 || next === undefined) return undefined;
    const message = `${this.#dropped} earlier events were dropped, for nobody listened`;
    this.#dropped = 0;
    return { type: "warning", code: "events_dropped", message, at: next.at, requestId: next.requestId };
  }
}
