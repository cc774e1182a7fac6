// One call: what was asked, its timers, and whoever is told of it.
import { ServerError, ToolCallFailedError } from "../api/errors.js";
import type { CallEvent } from "../api/events.js";
import type { CallDiagnostics, ToolCallFailed } from "../api/failure.js";
import type { CallInfo } from "../api/options.js";
import type { ToolCall } from "../api/session.js";
import { ignored, longestWait, observed, onAbort } from "../base/promise.js";
import { type Timer, timers } from "../base/timers.js";
import type { Failure } from "../http/credentials.js";
import type { CallHeaders } from "../http/exchanges.js";
import { Acks, type Timers } from "./ack.js";
import type { Deadline, DeadlineTimes } from "./deadline.js";
import { EventQueue } from "./event-queue.js";

/** What a call was made with, as far as the wrapper needs it. */
export interface CallOrigin {
  readonly id: string | number;
  readonly method: string;
  readonly tool: string | undefined;
  /** Executing it twice does no harm, as far as the wrapper knows: the caller's word. */
  readonly isSafe: boolean;
  /** It goes on with a stream or a task that was begun before: it was sent then. */
  readonly resumes?: boolean | undefined;
  /** The task that it takes up. */
  readonly task?: string | undefined;
  readonly startedAt: number;
  /** The caller's own headers. */
  readonly headers?: CallHeaders | undefined;
  /** The caller's signals. */
  readonly signals?: readonly AbortSignal[] | undefined;
  /** Told each new cursor. */
  readonly onToken?: ((token: string) => void) | undefined;
  /** What the user's callbacks are told of it; absent for what is no request of the caller's. */
  readonly info?: CallInfo | undefined;
  /** `connectMs` in force, in milliseconds. */
  readonly connectMs?: number | undefined;
  /** Reads the server's result: what whoever asked is given of it. */
  readonly read?: ((result: unknown) => unknown) | undefined;
}

/** What a call, or another message, was made with. */
export interface MadeWith {
  method: string;
  tool?: string | undefined;
  idempotent?: boolean | undefined;
  replay?: boolean | undefined;
  resumptionToken?: string | undefined;
  task?: string | undefined;
  id?: string | number | undefined;
  about?: Omit<CallInfo, "requestId"> | undefined;
  signals?: AbortSignal[] | undefined;
  headers?: CallHeaders | undefined;
  onToken?: ((token: string) => void) | undefined;
  read?: ((result: unknown) => unknown) | undefined;
}

/** The event of an answer. */
export type ResultEvent = Extract<CallEvent, { type: "result" }>;

/** Who is told of a call: its events, then exactly one outcome. None of it may throw. */
export interface CallSink {
  /** Takes notifications and progress as they came, where no event is wanted of them: whether one was handled. */
  message?(message: object): boolean;
  /** One event that is no outcome. With acks, it is to be handled, and who holds it shares them. */
  event(event: CallEvent, acks?: Acks): void;
  /** The server's answer; `message` is the response that brought it, where one did. */
  answered(event: ResultEvent, message?: object, httpStatus?: number): void;
  /** A notification was taken, or the handshake is done: there is no event for it. */
  accepted(): void;
  /** No answer. */
  failed(event: ToolCallFailed, failure: Failure): void;
}

/** One call from the wrapper's side: what was asked, the timers that run for it, and the sink that is told of it. */
export class CallRecord implements Timers {
  readonly origin: CallOrigin;
  /** Of its events, whether they were handled. */
  readonly acks: Acks;
  readonly #sink: CallSink;
  readonly #known: Partial<CallDiagnostics> & { events: number; gaps: number; duplicates: number };
  readonly #tellCore: (reason?: string) => void;
  // How to stop listening to the caller's signals.
  readonly #stops: (() => void)[] = [];
  // The reason of the signal that cancelled it.
  #cause: unknown;
  readonly #timers = new Set<Timer>();
  #cancelled = false;
  #settled = false;
  #deadline: Deadline | undefined;
  #stopAsking: (() => void) | undefined;

  constructor(
    origin: CallOrigin,
    sink: CallSink,
    tellCore: (reason?: string) => void,
    report: (key: number, ok: boolean) => void = () => {},
  ) {
    this.origin = origin;
    this.acks = new Acks(report);
    this.taskId = origin.task;
    this.#sink = sink;
    this.#known = { events: 0, gaps: 0, duplicates: 0 };
    this.#tellCore = tellCore;
    for (const signal of origin.signals ?? [])
      ignored(() => this.#stops.push(onAbort(signal, () => this.#aborted(signal.reason))));
  }

  /** The caller has cancelled it. */
  get isCancelled(): boolean {
    return this.#cancelled;
  }

  /** It has its outcome. */
  get isSettled(): boolean {
    return this.#settled;
  }

  /** Ends it as `cancelled`, unless it has its outcome. */
  cancel(reason?: string): void {
    if (this.#settled || this.#cancelled) return;
    this.#cancelled = true;
    if (this.#stopAsking === undefined) this.#tellCore(reason);
    else this.#stopAsking();
  }

  /** The clocks that its second deadline was made of. */
  times: DeadlineTimes | undefined;

  /** Keeps the second deadline of this call, which ends with it. */
  guard(deadline: Deadline, times: DeadlineTimes): void {
    this.#deadline = deadline;
    this.times = times;
  }

  /** The server's task, where it is one. */
  taskId: string | undefined;

  /** It has failed, and only waits for what the application may know; a cancel ends that wait. */
  ask(stop: () => void): void {
    this.#deadline?.clear();
    this.#stopAsking = stop;
  }

  after(ms: number, late: () => void): () => void {
    if (this.#settled) return () => {};
    const timer = timers.setTimeout(late, Math.min(ms, longestWait));
    this.#timers.add(timer);
    return () => {
      this.#timers.delete(timer);
      timers.clearTimeout(timer);
    };
  }

  /** One event that is no outcome. */
  event(event: CallEvent, acks?: Acks): void {
    if (this.#settled) return;
    this.#note(event);
    this.#sink.event(event, acks);
  }

  /** Whether its notifications and progress are taken as they came, by {@link CallRecord.message}. */
  get takesMessages(): boolean {
    return this.#sink.message !== undefined;
  }

  /** A notification, or progress, as it came: whether it was handled. */
  message(at: number, message: object): boolean {
    this.#known.events += 1;
    this.#known.lastProgressAt = at;
    return this.#sink.message?.(message) ?? true;
  }

  /** The server's answer. */
  answer(event: ResultEvent, message?: object, httpStatus?: number): void {
    if (this.#settle()) this.#sink.answered(event, message, httpStatus);
  }

  /** It is done, and there is nothing to tell of it. */
  accept(): void {
    if (this.#settle()) this.#sink.accepted();
  }

  /** No answer. */
  fail(event: ToolCallFailed, failure: Failure = {}): void {
    if (!this.#settle()) return;
    const isAborted = event.reason === "cancelled" && this.#cause !== undefined;
    this.#sink.failed(event, isAborted ? { thrown: this.#cause } : failure);
  }

  /** What the wrapper knows of the call, for a failure that the core can't tell of. */
  diagnostics(endedAt: number): CallDiagnostics {
    const { startedAt } = this.origin;
    return { startedAt, endedAt, recent: [], bytes: 0, era: "legacy", attempts: [], ...this.#known };
  }

  /** Nothing is left behind; false where it had ended before. */
  #settle(): boolean {
    if (this.#settled) return false;
    this.#settled = true;
    this.#deadline?.clear();
    for (const timer of this.#timers) timers.clearTimeout(timer);
    this.#timers.clear();
    for (const stop of this.#stops) ignored(stop);
    return true;
  }

  #aborted(reason: unknown): void {
    if (!this.#cancelled) this.#cause = reason;
    this.cancel();
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
      case "task":
        this.taskId = event.taskId;
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

/** The stand-alone caller's side of a call: a queue of events, and a promise of the result. */
export class Promised implements CallSink {
  /** Rejects as {@link ToolCall.result} does. */
  // biome-ignore lint/suspicious/noExplicitAny: only the caller knows the shape of a result
  readonly result: Promise<any>;
  readonly #queue = new EventQueue();
  #resolve!: (result: unknown) => void;
  #reject!: (error: Error) => void;

  constructor() {
    const result = new Promise<unknown>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.result = observed(result);
  }

  /** What the caller has of it. */
  handle(record: CallRecord): ToolCall {
    const { result } = this;
    return {
      id: String(record.origin.id),
      result,
      // biome-ignore lint/suspicious/noThenProperty: a call is a promise of its result
      then: (fulfilled, rejected) => result.then(fulfilled, rejected),
      catch: (rejected) => result.catch(rejected),
      finally: (settled) => result.finally(settled),
      [Symbol.toStringTag]: "ToolCall",
      cancel: () => record.cancel(),
      [Symbol.asyncIterator]: () => this.#queue.one(),
      batches: () => ({ [Symbol.asyncIterator]: () => this.#queue.batches() }),
    };
  }

  /** A loop that has begun is a holder of what is to be handled. */
  event(event: CallEvent, acks?: Acks): void {
    if (acks === undefined || !this.#queue.isHeard) this.#queue.push(event);
    else this.#queue.push(event, acks, acks.share());
  }

  answered(event: ResultEvent, _message?: object, httpStatus?: number): void {
    if ("error" in event) this.#reject(new ServerError(event.error, httpStatus));
    else this.#resolve(event.result);
    this.#queue.end(event);
  }

  accepted(): void {
    this.#resolve(undefined);
  }

  failed(event: ToolCallFailed, { thrown }: Failure): void {
    this.#reject(new ToolCallFailedError(event, thrown === undefined ? undefined : { cause: thrown }));
    this.#queue.end(event);
  }
}
