// The waits that the application times.
import type { ConnectOptions } from "../api/options.js";
import type { Log } from "../base/log.js";
import { longestWait } from "../base/promise.js";
import { timers } from "../base/timers.js";
import type { ScheduleOutput } from "../core/protocol.js";

type Scheduler = NonNullable<ConnectOptions["reconnectionScheduler"]>;

/** The waits that the option `reconnectionScheduler` was given, by call. */
export class Waits {
  readonly #scheduler: Scheduler | undefined;
  readonly #log: Log;
  readonly #reconnect: (call: number) => void;
  readonly #stops = new Map<number, () => void>();

  constructor(settings: { scheduler: Scheduler | undefined; log: Log }, reconnect: (call: number) => void) {
    this.#scheduler = settings.scheduler;
    this.#log = settings.log;
    this.#reconnect = reconnect;
  }

  /** A wait begins. A scheduler that fails is replaced by a timer, for this once. */
  begin({ call, waitMs, attempt }: ScheduleOutput): void {
    this.end(call);
    let isOver = false;
    const reconnect = () => {
      if (isOver) return;
      isOver = true;
      this.#stops.delete(call);
      this.#reconnect(call);
    };
    let stop: unknown;
    try {
      // The SDKs count from 0.
      stop = this.#scheduler?.(reconnect, waitMs, attempt - 1);
    } catch (thrown) {
      this.#log.threw("reconnectionScheduler", thrown);
      const timer = timers.setTimeout(reconnect, Math.min(waitMs, longestWait));
      stop = () => timers.clearTimeout(timer);
    }
    if (isOver) return;
    this.#stops.set(call, () => {
      isOver = true;
      if (typeof stop === "function") stop();
    });
  }

  /** The wait of a call is over, or nobody waits for it any more. */
  end(call: number): void {
    const stop = this.#stops.get(call);
    this.#stops.delete(call);
    try {
      stop?.();
    } catch (thrown) {
      this.#log.threw("reconnectionScheduler", thrown);
    }
  }

  /** All of them. */
  endAll(): void {
    for (const call of [...this.#stops.keys()]) this.end(call);
  }
}
