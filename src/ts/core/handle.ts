// One handle in an instance: every way in and out of the core.
import { ConfigError } from "../api/errors.js";
import type { Log } from "../base/log.js";
import type { Failure } from "../http/credentials.js";
import { type CallHeaders, type ExchangeSettings, Exchanges } from "../http/exchanges.js";
import type { Instance, Seat } from "./instance.js";
import { parseMessages } from "./parse.js";
import type { Batch, Core, CoreConfig, CoreOutput, Host, Refusal } from "./protocol.js";
import { elsewhere, WorkerContext } from "./worker-context.js";

/** What a core told, with the JSON-RPC message it refers to. `lost` is the wrapper's own word, and the last one. */
export interface Told {
  output: Exclude<CoreOutput, { exchange: number }> | { out: "lost"; text: string };
  message?: unknown;
}

/** Who hears what a core tells. Always called outside of exports, and may call back in. May not throw. */
export interface Listener {
  told(told: Told): void;
  /** A request of the call waits for its headers. */
  opening(call: number): void;
  /** It is handed to `fetch`. */
  sent(call: number): void;
  /** The headers that the caller wants on the requests of a call. */
  headersOf(call: number): CallHeaders | undefined;
}

/** What a handle is made from. */
export interface HandleSetup {
  settings: ExchangeSettings;
  /** The configuration of the core, made from the settings. */
  config: CoreConfig;
  clock: () => number;
}

/**
 * One handle in an instance with its exchanges: every way in and out of the core passes here. What the core asks of the
 * network is done at once; what it tells is queued and handed on in order, after the export has returned.
 */
export class CoreHandle {
  readonly #instance: Instance;
  readonly #clock: () => number;
  readonly #context = new WorkerContext();
  readonly #log: Log;
  readonly #listener: Listener;
  readonly #exchanges: Exchanges;
  readonly #seat: Seat;
  readonly #queue: Told[] = [];
  #reports: { call: number; key: number; ok: boolean }[] = [];
  #handle = -1;
  #over = false;
  #telling = false;

  /** Takes a seat in the instance. Throws {@link ConfigError} where the core refuses the configuration. */
  constructor(instance: Instance, { settings, config, clock }: HandleSetup, listener: Listener) {
    this.#instance = instance;
    this.#clock = clock;
    this.#log = settings.log;
    this.#listener = listener;
    this.#exchanges = new Exchanges(settings, {
      sent: (call) => this.#listener.sent(call),
      push: (exchange, bytes) => this.#enter((core, handle, now) => core.push(handle, now, exchange, bytes)),
      end: (exchange) => this.#enter((core, handle, now) => core.end(handle, now, exchange)),
      fail: (exchange, message, code) =>
        this.#enter((core, handle, now) => core.fail(handle, now, exchange, message, code)),
    });
    this.#seat = { lost: (text) => this.#lost(text) };
    instance.join(this.#seat);
    const made = instance.enter((core) => core.create(this.#host(), config, clock()));
    if (typeof made === "number") this.#handle = made;
    else if (made !== undefined) this.#refused(made);
  }

  /** No way in any more: the instance was lost, or the handle destroyed. */
  get isOver(): boolean {
    return this.#over;
  }

  /** It was opened for another request of a Worker than the one that asks. */
  get isElsewhere(): boolean {
    return this.#context.isElsewhere;
  }

  /**
   * Runs an export for the caller of a public function: what it tells comes in a microtask, never before that function
   * has returned. Nothing is done for a caller who belongs elsewhere.
   */
  run(use: (core: Core, handle: number, now: number) => Batch | undefined): void {
    if (this.isElsewhere) {
      this.#log.write("error", elsewhere);
      return;
    }
    const batch = this.ask(use);
    if (batch === undefined) return;
    this.#take(batch);
    queueMicrotask(() => this.#tell());
  }

  /** Runs an export that answers at once; `undefined` where the instance is lost. */
  ask<T>(use: (core: Core, handle: number, now: number) => T): T | undefined {
    if (this.#over) return undefined;
    return this.#instance.enter((core) => use(core, this.#handle, this.#clock()));
  }

  /**
   * Runs an export in the middle of telling: what it tells is told before it returns, ahead of what waits. False where it
   * has nothing to tell.
   */
  interject(use: (core: Core, handle: number, now: number) => Batch | undefined): boolean {
    const batch = this.ask(use);
    if (batch === undefined) return false;
    const rest = this.#queue.splice(0);
    this.#take(batch);
    this.#tellQueue();
    this.#queue.push(...rest);
    return true;
  }

  /** Reports whether an event was handled; while something is told, after all of that. */
  report(call: number, key: number, ok: boolean): void {
    if (this.#telling) this.#reports.push({ call, key, ok });
    else this.run((core, handle, now) => core.handled(handle, now, call, key, ok));
  }

  /** Gives up the reports of a call that has ended in the core; how many of them were failures. */
  dropReports(call: number): number {
    const dropped = this.#reports.filter((each) => each.call === call);
    this.#reports = this.#reports.filter((each) => each.call !== call);
    return dropped.filter(({ ok }) => !ok).length;
  }

  /** What is known of the last exchange of a call, should it have failed. */
  failureOf(call: number): Failure {
    return this.#exchanges.failureOf(call);
  }

  /** The same of a call that has ended now. */
  takeFailure(call: number): Failure {
    return this.#exchanges.takeFailure(call);
  }

  /** Aborts the exchanges of one call, without the core. */
  abortCall(call: number): void {
    this.#exchanges.abortCall(call);
  }

  /** Ends it: exchanges are aborted, the handle is destroyed, nothing more is told. Never from inside an export. */
  destroy(): void {
    if (this.#over) return;
    this.#over = true;
    this.#queue.length = 0;
    this.#reports.length = 0;
    this.#exchanges.abortAll();
    this.#instance.leave(this.#seat);
    this.#instance.enter((core) => core.destroy(this.#handle));
  }

  /** Runs an export on behalf of the network or a timer: what it tells is told in this turn. */
  #enter(use: (core: Core, handle: number, now: number) => Batch | undefined): void {
    const batch = this.ask(use);
    if (batch === undefined) return;
    this.#take(batch);
    this.#tell();
  }

  #host(): Host {
    return {
      open: (exchange, url, init, call, bare) => {
        if (bare) return this.#exchanges.openBare(exchange, url, init);
        if (call !== undefined) this.#listener.opening(call);
        const headers = () => (call === undefined ? undefined : this.#listener.headersOf(call));
        return this.#exchanges.open(exchange, url, init, headers, call);
      },
      schedule: () => queueMicrotask(() => this.#enter((core, handle, now) => core.poll(handle, now))),
      panicked: (text) => this.#instance.panicked(text),
    };
  }

  #refused(refusal: Refusal): never {
    this.#over = true;
    this.#instance.leave(this.#seat);
    throw new ConfigError(refusal.option, refusal.message);
  }

  #lost(text: string): void {
    if (this.#over) return;
    this.#over = true;
    this.#exchanges.abandon();
    this.#queue.push({ output: { out: "lost", text } });
    // It may be a caller's own export that trapped: his function returns first.
    queueMicrotask(() => this.#tell());
  }

  /** Does what a batch asks of the network and queues what it tells. */
  #take(batch: Batch): void {
    const messages = batch.messages === undefined ? [] : parseMessages(batch.messages);
    for (const output of batch.outputs) {
      if (output.out === "read") this.#exchanges.read(output.exchange, output.on);
      else if (output.out === "abort") this.#exchanges.abort(output.exchange);
      else this.#queue.push(withMessage(output, messages));
    }
  }

  /** Hands the queue on, then the reports. A listener that calls back in adds to them and starts no second round. */
  #tell(): void {
    if (this.#telling) return;
    this.#telling = true;
    try {
      do {
        this.#tellQueue();
        for (const { call, key, ok } of this.#reports.splice(0)) {
          const batch = this.ask((core, handle, now) => core.handled(handle, now, call, key, ok));
          if (batch !== undefined) this.#take(batch);
        }
      } while (this.#queue.length > 0);
    } finally {
      this.#telling = false;
    }
  }

  #tellQueue(): void {
    for (let told = this.#queue.shift(); told !== undefined; told = this.#queue.shift())
      this.#listener.told(told);
  }
}

function withMessage(output: Exclude<CoreOutput, { exchange: number }>, messages: unknown[]): Told {
  const index = "message" in output ? output.message : undefined;
  return typeof index === "number" ? { output, message: messages[index] } : { output };
}
