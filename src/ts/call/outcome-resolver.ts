// What the application knows of a call whose outcome is unknown.
import type { CallInfo } from "../api/options.js";
import { within } from "../base/promise.js";
import { timers } from "../base/timers.js";
import type { Settings } from "../options/settings.js";

/** The questions that are open with the option `onUnknown`: what became of a call whose outcome is not known. */
export class OutcomeResolver {
  readonly #settings: Pick<Settings, "onUnknown" | "log">;
  readonly #open = new Set<() => void>();
  #stopped = false;

  constructor(settings: Pick<Settings, "onUnknown" | "log">) {
    this.#settings = settings;
  }

  /**
   * Asks for the result of a call, for `ms` milliseconds at most, and tells it once, or `undefined` where there is none.
   * Returns how to stop waiting for it; or `undefined` where nobody is to be asked, and then nothing is told.
   */
  ask(call: CallInfo, ms: number, tell: (result: unknown) => void): (() => void) | undefined {
    const { onUnknown, log } = this.#settings;
    if (onUnknown === undefined || this.#stopped) return undefined;
    const controller = new AbortController();
    const { signal } = controller;
    const finish = (result: unknown) => {
      if (this.#open.delete(stop)) tell(result);
    };
    const stop = () => {
      controller.abort();
      timers.queueMicrotask(() => finish(undefined));
    };
    this.#open.add(stop);
    const start = () => Promise.resolve().then(() => (signal.aborted ? undefined : onUnknown(call)));
    const late = () => new Error(`nothing came within 3 x connectMs (${ms} ms)`);
    within(ms, start, late, signal).then(finish, (thrown) => {
      if (!signal.aborted) log.threw("onUnknown", thrown);
      finish(undefined);
    });
    return stop;
  }

  /** Ends all: what is still asked gives nothing, and nobody is asked any more. */
  stop(): void {
    this.#stopped = true;
    for (const stop of [...this.#open]) stop();
  }
}
