import { ServerError, ToolCallFailedError } from "./errors.js";
import { observed } from "./promise.js";
import type { CallDiagnostics, CallEvent, JsonRpcError, ToolCall, ToolCallFailed } from "./types.js";

const keptUnheard = 1_000;

type Done = IteratorResult<CallEvent, undefined>;

/**
 * The events of one call: a queue that several loops may share. While nobody listens (before the first `next()`, and
 * after a loop was left) it keeps the last 1 000 and counts what it drops; the outcome comes last and stays.
 */
class EventQueue implements AsyncIterable<CallEvent> {
  readonly #events: CallEvent[] = [];
  // The first event not yet taken: shifting a long array moves all of it.
  #head = 0;
  readonly #waiting: ((done: Done) => void)[] = [];
  #heard = false;
  #ended = false;
  #dropped = 0;

  push(event: CallEvent): void {
    const waiting = this.#waiting.shift();
    if (waiting !== undefined) {
      waiting({ done: false, value: event });
      return;
    }
    this.#events.push(event);
    if (!this.#heard) {
      while (this.#events.length - this.#head > keptUnheard) {
        this.#take();
        this.#dropped += 1;
      }
    }
  }

  /** The outcome: the last event. */
  end(outcome: CallEvent): void {
    this.#ended = true;
    const waiting = this.#waiting.shift();
    if (waiting === undefined) this.#events.push(outcome);
    else waiting({ done: false, value: outcome });
    for (const other of this.#waiting.splice(0)) other({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): AsyncIterator<CallEvent, undefined> {
    return {
      next: () => this.#next(),
      return: () => {
        this.#heard = false;
        return Promise.resolve({ done: true, value: undefined });
      },
    };
  }

  #next(): Promise<Done> {
    this.#heard = true;
    const value = this.#reportDropped() ?? this.#take();
    if (value !== undefined) return Promise.resolve({ done: false, value });
    if (this.#ended) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #take(): CallEvent | undefined {
    const event = this.#events[this.#head];
    if (event === undefined) return undefined;
    this.#head += 1;
    if (this.#head === this.#events.length || this.#head === keptUnheard) {
      this.#events.splice(0, this.#head);
      this.#head = 0;
    }
    return event;
  }

  #reportDropped(): CallEvent | undefined {
    const next = this.#events[this.#head];
    if (this.#dropped === 0 || next === undefined) return undefined;
    const message = `${this.#dropped} earlier events were dropped, for nobody listened`;
    this.#dropped = 0;
    return { type: "warning", code: "events_dropped", message, at: next.at, requestId: next.requestId };
  }
}

/** What a call was made with, as far as the wrapper needs it. */
export interface CallOrigin {
  readonly id: string;
  readonly method: string;
  readonly tool: string | undefined;
  readonly idempotent: boolean;
  readonly startedAt: number;
  /** The caller's own headers. */
  readonly headers?: HeadersInit | undefined;
  /** The caller's signal. */
  readonly signal?: AbortSignal | undefined;
}

/** One call from the wrapper's side: it is told events and exactly one outcome, and `handle` is what the caller has. */
export class CallRecord {
  readonly origin: CallOrigin;
  readonly handle: ToolCall;
  readonly #queue = new EventQueue();
  readonly #known: Partial<CallDiagnostics> & { events: number; gaps: number; duplicates: number };
  readonly #cancel: () => void;
  #resolve!: (result: unknown) => void;
  #reject!: (error: Error) => void;
  #cancelled = false;
  #settled = false;

  constructor(origin: CallOrigin, cancel: () => void) {
    this.origin = origin;
    this.#known = { events: 0, gaps: 0, duplicates: 0 };
    this.#cancel = () => {
      if (this.#settled || this.#cancelled) return;
      this.#cancelled = true;
      cancel();
    };
    const result = new Promise<unknown>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.handle = {
      id: origin.id,
      result: observed(result),
      cancel: this.#cancel,
      [Symbol.asyncIterator]: () => this.#queue[Symbol.asyncIterator](),
    };
    origin.signal?.addEventListener("abort", this.#cancel, { once: true });
  }

  /** It has its outcome. */
  get isSettled(): boolean {
    return this.#settled;
  }

  /** One event that is no outcome. */
  event(event: CallEvent): void {
    if (this.#settled) return;
    this.#note(event);
    this.#queue.push(event);
  }

  /** The server's result, with its event. */
  succeed(event: CallEvent, result: unknown): void {
    if (this.#settle()) this.#queue.end(event);
    this.#resolve(result);
  }

  /** The server's error, with its event. */
  refuse(event: CallEvent, error: JsonRpcError, httpStatus: number | undefined): void {
    if (this.#settle()) this.#queue.end(event);
    this.#reject(new ServerError(error, httpStatus));
  }

  /** A notification was taken, or the handshake is done: there is no event for it. */
  accept(): void {
    this.#settle();
    this.#resolve(undefined);
  }

  /** No answer. */
  fail(event: ToolCallFailed, cause?: unknown): void {
    if (this.#settle()) this.#queue.end(event);
    this.#reject(new ToolCallFailedError(event, cause === undefined ? undefined : { cause }));
  }

  /** What the wrapper knows of the call, for a failure that the core can't tell of. */
  diagnostics(endedAt: number): CallDiagnostics {
    const { startedAt } = this.origin;
    return { startedAt, endedAt, recent: [], bytes: 0, era: "legacy", attempts: [], ...this.#known };
  }

  #settle(): boolean {
    if (this.#settled) return false;
    this.#settled = true;
    this.origin.signal?.removeEventListener("abort", this.#cancel);
    return true;
  }

  #note(event: CallEvent): void {
    const known = this.#known;
    switch (event.type) {
      case "progress":
      case "message":
        known.events += 1;
        known.lastProgressAt = event.at;
        break;
      case "open":
        known.lastStatus = event.status;
        break;
      case "gap":
        known.gaps += 1;
        break;
      case "resumed":
        known.duplicates += event.duplicates;
        break;
      default:
    }
  }
}
