// Whether events were handled.

/** Runs something later, unless it was stopped or what it is for has ended. */
export interface Timers {
  /** Runs `late` after `ms` milliseconds; returns how to stop that. */
  after(ms: number, late: () => void): () => void;
}

/**
 * Reports once of each event of a call, by its key, whether it was handled: when all who hold it are done with it, or at
 * the first who failed. Nothing is kept of an event that at most one holds.
 */
export class Acks {
  readonly #report: (key: number, ok: boolean) => void;
  // The event that is being handed out, and how many hold it by now.
  #key = 0;
  #holders = 0;
  #hasFailed = false;
  // How many still hold an event; negative where it was reported as failed.
  readonly #held = new Map<number, number>();

  constructor(report: (key: number, ok: boolean) => void) {
    this.#report = report;
  }

  /** An event is about to be handed out; nobody is to be told of one whose key is 0. */
  begin(key: number): void {
    this.#key = key;
    this.#holders = 0;
    this.#hasFailed = false;
  }

  /** One more holder of the event that is being handed out: the key by which he is done with it. */
  share(): number {
    this.#holders += 1;
    return this.#key;
  }

  /** All have it who are to have it. */
  end(): void {
    const key = this.#key;
    const holders = this.#holders;
    this.#key = 0;
    if (key === 0) return;
    if (this.#hasFailed) {
      if (holders > 0) this.#held.set(key, -holders);
      this.#report(key, false);
    } else if (holders === 0) this.#report(key, true);
    else if (holders > 1) this.#held.set(key, holders);
  }

  /** A holder is done with an event. To be called once by each. */
  done(key: number, ok: boolean): void {
    if (key === 0) return;
    if (key === this.#key) {
      this.#holders -= 1;
      this.#hasFailed ||= !ok;
      return;
    }
    const left = this.#held.get(key) ?? 1;
    const isReported = left < 0;
    const others = Math.abs(left) - 1;
    if (others > 1 || (others === 1 && (isReported || !ok))) {
      this.#held.set(key, isReported || !ok ? -others : others);
    } else this.#held.delete(key);
    if (!isReported && (!ok || others === 0)) this.#report(key, ok);
  }
}
