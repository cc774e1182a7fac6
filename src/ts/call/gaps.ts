// What the application says of gaps.
import type { Settings } from "../options/settings.js";
import type { CallRecord } from "./record.js";

/** Lets the application judge, by its payload, whether events are missing at the seam where a stream was resumed. */
export class GapJudge {
  readonly #settings: Pick<Settings, "isGap" | "log">;
  readonly #last = new WeakMap<CallRecord, unknown>();

  constructor(settings: Pick<Settings, "isGap" | "log">) {
    this.#settings = settings;
  }

  /** Hears the params of each message and progress of a call; true where `isGap` says so of the two around a seam. */
  finds(record: CallRecord, params: unknown, isSeam: boolean): boolean {
    const { isGap, log } = this.#settings;
    if (isGap === undefined || params === undefined) return false;
    const before = this.#last.get(record);
    this.#last.set(record, params);
    if (!isSeam || before === undefined) return false;
    try {
      return isGap(before, params) === true;
    } catch (thrown) {
      log.threw("isGap", thrown);
      return false;
    }
  }
}
