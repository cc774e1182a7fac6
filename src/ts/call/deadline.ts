// The second deadline of a call, which needs no core.
import { longestWait } from "../base/promise.js";
import { type Timer, timers } from "../base/timers.js";

// How much later than the core's own deadline: whoever is first wins.
const slackMs = 250;
// A timer that is later than this tells that the machine or the page slept.
const sleptMs = 30_000;

/** When a deadline is due, in milliseconds. */
export interface DeadlineTimes {
  /** The deadline as the core keeps it. */
  deadlineMs: number;
  /** How long the attempt after a sleep may take. */
  connectMs: number;
}

/**
 * The second deadline of a call: a timer that needs neither the core nor any event. One that fires long after its time
 * was asleep with everything else, and gives the call time for one more attempt, once.
 */
export class Deadline {
  readonly #clock: () => number;
  readonly #expire: () => void;
  #graceMs: number | undefined;
  #due = 0;
  #timer: Timer | undefined;

  /** Arms it. `expire` is called at most once, and never after {@link clear}. */
  constructor(clock: () => number, { deadlineMs, connectMs }: DeadlineTimes, expire: () => void) {
    this.#clock = clock;
    this.#expire = expire;
    this.#graceMs = connectMs + slackMs;
    this.#arm(deadlineMs + slackMs);
  }

  /** Ends it: no timer is left. */
  clear(): void {
    timers.clearTimeout(this.#timer);
  }

  #arm(ms: number): void {
    this.#due = this.#clock() + ms;
    this.#wait(Math.ceil(ms));
  }

  #wait(ms: number): void {
    const step = Math.min(ms, longestWait);
    this.#timer = timers.setTimeout(() => (ms > step ? this.#wait(ms - step) : this.#fired()), step);
  }

  /** The time is up, whatever the clock says: a Worker's may stand still. */
  #fired(): void {
    const graceMs = this.#graceMs;
    const hasSlept = this.#clock() - this.#due > sleptMs;
    if (hasSlept && graceMs !== undefined) {
      this.#graceMs = undefined;
      this.#arm(graceMs);
    } else {
      this.#expire();
    }
  }
}
