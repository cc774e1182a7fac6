// One handle in an instance: every way in and out of the core.
import { ConfigError } from "../api/errors.js";
import type { Log } from "../base/log.js";
import { timers } from "../base/timers.js";
import type { Failure } from "../http/credentials.js";
import { type CallHeaders, type ExchangeSettings, Exchanges } from "../http/exchanges.js";
import type { Instance, Seat } from "./instance.js";
import type {
  Batch,
  Core,
  CoreConfig,
  CoreOutput,
  Host,
  Refusal,
  SessionFacts,
  TransmitOutput,
} from "./protocol.js";
import { elsewhere, WorkerContext } from "./worker-context.js";

/** For how many microtasks the next report may wait for more, after so many. */
const patience = (streak: number) => (streak < 4 ? 0 : 2 ** Math.min(streak - 3, 7));

/** What a core tells. `lost` is the wrapper's own word, and the last one. */
export type Told =
  | Exclude<CoreOutput, { exchange: number } | { out: "persist" }>
  | { out: "lost"; text: string };

/** Who hears what a core tells. Always called outside of exports, and may call back in. May not throw. */
export interface Listener {
  told(told: Told): void;
  /** What is known of the session, at once: a trap may follow before anything is told. */
  persist(facts: SessionFacts): void;
  /** The headers that the caller wants on the requests of a call, or what is to be known of another's. */
  headersOf(call: number): CallHeaders | undefined;
  /** Nobody waits for anything: what is left to do keeps no process alive. */
  readonly isIdle: boolean;
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
  // Waiting for it is cheaper than a microtask of the runtime's. None is made at module scope: it would be of no request.
  readonly #settled = Promise.resolve();
  readonly #instance: Instance;
  readonly #clock: () => number;
  readonly #context = new WorkerContext();
  readonly #log: Log;
  // The endpoint.
  readonly #url: string;
  readonly #listener: Listener;
  readonly #exchanges: Exchanges;
  readonly #seat: Seat;
  // What waits to be told, from `#next` on: shifting a long array moves all of it.
  #queue: Told[] = [];
  #next = 0;
  // Reports of handled events, four numbers for each run: call, first key, last key, 1 or 0.
  #reports: number[] = [];
  #hasFailures = false;
  // How many events were reported in all, and by how many reports of this kind.
  #reported = 0;
  #streak = 0;
  #handle = -1;
  #over = false;
  #telling = false;
  #isHeld = true;

  /** Takes a seat in the instance. Throws {@link ConfigError} where the core refuses the configuration. */
  constructor(instance: Instance, { settings, config, clock }: HandleSetup, listener: Listener) {
    this.#instance = instance;
    this.#clock = clock;
    this.#log = settings.log;
    this.#url = config.url;
    this.#listener = listener;
    this.#exchanges = new Exchanges(settings, {
      sent: (exchange) => this.#enter((core, handle, now) => core.sent(handle, now, exchange)),
      isReserved: (name) => this.#instance.enter((core) => core.is_reserved(name)) ?? true,
      learned: (secret) => this.ask((core, handle) => core.learn_secret(handle, secret)),
      head: (exchange, head) => this.#enter((core, handle, now) => core.head(handle, now, exchange, head)),
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
    if (batch !== undefined) this.#tellSoon(batch);
  }

  /** Makes a call: what it was made as; `undefined` where the instance is lost. Throws {@link ConfigError}. */
  make<T extends Batch>(use: (core: Core, handle: number, now: number) => T | Refusal): T | undefined {
    const made = this.ask(use);
    if (made === undefined) return undefined;
    if ("option" in made) throw new ConfigError(made.option, made.message);
    this.#tellSoon(made);
    return made;
  }

  /** Runs an export that answers at once; `undefined` where the instance is lost. */
  ask<T>(use: (core: Core, handle: number, now: number) => T): T | undefined {
    if (this.#over) return undefined;
    // The core knows what was handled before it does anything else.
    if (this.#reports.length > 0) {
      const batch = this.#flush();
      if (batch !== undefined) this.#tellSoon(batch);
    }
    return this.#instance.enter((core) => use(core, this.#handle, this.#clock()));
  }

  /** Runs an export in the middle of telling: what it tells is told before it returns, ahead of what waits. */
  interject(use: (core: Core, handle: number, now: number) => Batch | undefined): void {
    const batch = this.ask(use);
    if (batch !== undefined) this.#tellAhead(batch);
  }

  /** Reports whether an event was handled: with the next entry into the core, which comes once all that waits was told. */
  report(call: number, key: number, ok: boolean): void {
    const reports = this.#reports;
    const last = reports.length - 4;
    const isNext =
      last >= 0 && // What is no index of an array is dear to look up.
      reports[last] === call &&
      reports[last + 2] === key - 1 &&
      reports[last + 3] === Number(ok);
    if (isNext) reports[last + 2] = key;
    else reports.push(call, key, key, Number(ok));
    if (!ok) this.#hasFailures = true;
    this.#reported += 1;
    if (!this.#telling && last < 0) this.#reportSoon(this.#reported);
  }

  /**
   * Reports in a microtask. After the first few, a loop that takes one event after the other in microtasks of its own has
   * longer and longer to go on, for one report is as dear as many events; it is over when it did nothing for two of them.
   */
  #reportSoon(seen: number, hops = patience(this.#streak), idle = 0): void {
    void this.#settled.then(() => {
      if (this.#reports.length === 0) return;
      const isIdle = this.#reported === seen;
      if (hops > 0 && !(isIdle && idle > 0)) {
        this.#reportSoon(this.#reported, hops - 1, isIdle ? idle + 1 : 0);
        return;
      }
      this.#streak += 1;
      this.#tell();
    });
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
    this.#queue = [];
    this.#next = 0;
    this.#reports = [];
    this.#exchanges.abortAll();
    this.#instance.enter((core) => core.destroy(this.#handle));
    this.#instance.leave(this.#seat);
  }

  /** Runs an export on behalf of the network or a timer: what it tells is told in this turn. */
  #enter(use: (core: Core, handle: number, now: number) => Batch | undefined): void {
    const batch = this.ask(use);
    if (batch !== undefined) this.#enqueue(batch);
    this.#tell();
  }

  #host(): Host {
    return {
      schedule: () => timers.queueMicrotask(() => this.#enter((core, handle, now) => core.poll(handle, now))),
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
    this.#exchanges.abortAll();
    this.#queue.push({ out: "lost", text });
    // It may be a caller's own export that trapped: his function returns first.
    timers.queueMicrotask(() => this.#tell());
  }

  /** Does at once what is asked of the network, and keeps what is known of the session; the rest is to be told. */
  #isToTell(output: CoreOutput): output is Told & CoreOutput {
    if (output.out === "read") this.#exchanges.read(output.exchange, output.on);
    else if (output.out === "abort") this.#exchanges.abort(output.exchange);
    else if (output.out === "transmit") this.#transmit(output);
    else if (output.out === "persist") {
      const { out: _out, ...facts } = output;
      this.#listener.persist(facts);
    } else return true;
    return false;
  }

  #transmit(request: TransmitOutput): void {
    const { call, url = this.#url } = request;
    const headers = () => (call === undefined ? undefined : this.#listener.headersOf(call));
    this.#exchanges.open(request, url, headers);
  }

  /** Tells the core what was handled. */
  #flush(): Batch | undefined {
    const runs = this.#reports;
    this.#reports = [];
    this.#hasFailures = false;
    const now = this.#clock();
    return this.#instance.enter((core) => {
      let tells = false;
      for (let at = 0; at < runs.length; at += 4) {
        const number = (place: number) => runs[at + place] as number;
        tells = core.handled(this.#handle, now, number(0), number(1), number(2), number(3) === 1) || tells;
      }
      return tells ? core.drain(this.#handle, now) : undefined;
    });
  }

  #enqueue(batch: Batch): void {
    for (const output of batch.outputs) if (this.#isToTell(output)) this.#queue.push(output);
  }

  #tellSoon(batch: Batch): void {
    this.#enqueue(batch);
    timers.queueMicrotask(() => this.#tell());
  }

  #tellAhead(batch: Batch): void {
    for (const told of batch.outputs.filter((output) => this.#isToTell(output))) this.#tellOne(told as Told);
  }

  /** Hands the queue on, then the reports. A listener that calls back in adds to them and starts no second round. */
  #tell(): void {
    if (this.#telling) return;
    this.#telling = true;
    try {
      do {
        while (this.#next < this.#queue.length) this.#tellOne(this.#queue[this.#next++] as Told);
        this.#queue = [];
        this.#next = 0;
        const batch = this.#reports.length > 0 && !this.#over ? this.#flush() : undefined;
        if (batch !== undefined) this.#enqueue(batch);
      } while (this.#queue.length > 0);
    } finally {
      this.#telling = false;
    }
    this.#hold(!this.#listener.isIdle);
  }

  #hold(isHeld: boolean): void {
    if (this.#over || this.#isHeld === isHeld) return;
    this.#isHeld = isHeld;
    this.#instance.enter((core) => core.hold(isHeld));
  }

  #tellOne(told: Told): void {
    // A handler that failed is no news after the outcome.
    if (told.out === "settle" && this.#hasFailures && !this.#over) {
      const batch = this.#flush();
      if (batch !== undefined) this.#tellAhead(batch);
    }
    this.#listener.told(told);
  }
}
