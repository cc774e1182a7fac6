// Whether an event was handled.

/** Runs something later, unless it was stopped or what it is for has ended. */
export interface Timers {
  /** Runs `late` after `ms` milliseconds; returns how to stop that. */
  after(ms: number, late: () => void): () => void;
}

/**
 * Reports once whether an event was handled: when all who were given it are done with it, or at the first who failed.
 * It starts with one holder, who hands the event out.
 */
export class Ack {
  readonly timers: Timers;
  readonly #report: (ok: boolean) => void;
  #holders = 1;

  constructor(timers: Timers, report: (ok: boolean) => void) {
    this.timers = timers;
    this.#report = report;
  }

  /** One more holder. */
  share(): void {
    this.#holders += 1;
  }

  /** A holder is done with the event. */
  done(ok: boolean): void {
    if (this.#holders === 0) return;
    this.#holders = ok ? this.#holders - 1 : 0;
    if (this.#holders === 0) this.#report(ok);
  }
}
