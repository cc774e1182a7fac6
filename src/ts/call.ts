import type { Deadline } from "./deadline.js";
import { ServerError, ToolCallFailedError } from "./errors.js";
import { ignored, longestWait, observed } from "./promise.js";
import { EventQueue } from "./queue.js";
import type { Receipt, Timers } from "./receipt.js";
import type {
  CallDiagnostics,
  CallEvent,
  CallInfo,
  JsonRpcError,
  OnGap,
  ToolCall,
  ToolCallFailed,
} from "./types.js";

/** What a call was made with, as far as the wrapper needs it. */
export interface CallOrigin {
  readonly id: string;
  readonly method: string;
  readonly tool: string | undefined;
  /** Executing it twice does no harm, as far as the wrapper knows: the caller's word. */
  readonly isSafe: boolean;
  readonly startedAt: number;
  /** The caller's own headers. */
  readonly headers?: HeadersInit | undefined;
  /** The caller's signal. */
  readonly signal?: AbortSignal | undefined;
  /** Told each new cursor. */
  readonly onToken?: ((token: string) => void) | undefined;
  /** What to do about a gap. */
  readonly onGap?: OnGap | undefined;
  /** What the user's callbacks are told of it; absent for what is no request of the caller's. */
  readonly info?: CallInfo | undefined;
  /** `connectMs` in force, in milliseconds. */
  readonly connectMs?: number | undefined;
}

/** One call from the wrapper's side: it is told events and exactly one outcome, and `handle` is what the caller has. */
export class CallRecord implements Timers {
  readonly origin: CallOrigin;
  readonly handle: ToolCall;
  readonly #queue = new EventQueue();
  readonly #known: Partial<CallDiagnostics> & { events: number; gaps: number; duplicates: number };
  readonly #cancel: () => void;
  readonly #timers = new Set<ReturnType<typeof setTimeout>>();
  #resolve!: (result: unknown) => void;
  #reject!: (error: Error) => void;
  #cancelled = false;
  #settled = false;
  #deadline: Deadline | undefined;
  #stopAsking: (() => void) | undefined;

  constructor(origin: CallOrigin, cancel: () => void) {
    this.origin = origin;
    this.#known = { events: 0, gaps: 0, duplicates: 0 };
    this.#cancel = () => {
      if (this.#settled || this.#cancelled) return;
      this.#cancelled = true;
      if (this.#stopAsking === undefined) cancel();
      else this.#stopAsking();
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
    ignored(() => origin.signal?.addEventListener("abort", this.#cancel, { once: true }));
  }

  /** The caller has cancelled it. */
  get isCancelled(): boolean {
    return this.#cancelled;
  }

  /** It has its outcome. */
  get isSettled(): boolean {
    return this.#settled;
  }

  /** Keeps the second deadline of this call, which ends with it. */
  guard(deadline: Deadline): void {
    this.#deadline = deadline;
  }

  /** It has failed, and only waits for what the application may know; a cancel ends that wait. */
  ask(stop: () => void): void {
    this.#deadline?.clear();
    this.#stopAsking = stop;
  }

  after(ms: number, late: () => void): () => void {
    const timer = setTimeout(late, Math.min(ms, longestWait));
    this.#timers.add(timer);
    return () => {
      this.#timers.delete(timer);
      clearTimeout(timer);
    };
  }

  /** One event that is no outcome. A loop that has begun is a holder of the receipt. */
  event(event: CallEvent, receipt?: Receipt): void {
    if (this.#settled) return;
    this.#note(event);
    if (receipt === undefined || !this.#queue.isHeard) {
      this.#queue.push(event);
      return;
    }
    receipt.share();
    this.#queue.push(event, () => receipt.done(true));
  }

  /** The server's result, with its event. */
  succeed(event: CallEvent, result: unknown): void {
    this.#resolve(result);
    this.#settle(event);
  }

  /** The server's error, with its event. */
  refuse(event: CallEvent, error: JsonRpcError, httpStatus: number | undefined): void {
    this.#reject(new ServerError(error, httpStatus));
    this.#settle(event);
  }

  /** A notification was taken, or the handshake is done: there is no event for it. */
  accept(): void {
    this.#resolve(undefined);
    this.#settle();
  }

  /** No answer. */
  fail(event: ToolCallFailed, cause?: unknown): void {
    this.#reject(new ToolCallFailedError(event, cause === undefined ? undefined : { cause }));
    this.#settle(event);
  }

  /** What the wrapper knows of the call, for a failure that the core can't tell of. */
  diagnostics(endedAt: number): CallDiagnostics {
    const { startedAt } = this.origin;
    return { startedAt, endedAt, recent: [], bytes: 0, era: "legacy", attempts: [], ...this.#known };
  }

  /** The promise has its outcome: so has the queue, and then nothing is left behind. */
  #settle(outcome?: CallEvent): void {
    if (this.#settled) return;
    this.#settled = true;
    if (outcome !== undefined) this.#queue.end(outcome);
    this.#deadline?.clear();
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    ignored(() => this.origin.signal?.removeEventListener("abort", this.#cancel));
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
