import type { Settings } from "./config.js";
import type { CallEvent, SessionEvent } from "./types.js";

/** Hands an event to the logger and to `onEvent`. Never called inside an export; what they throw harms nothing. */
export function emit(settings: Pick<Settings, "log" | "onEvent">, event: CallEvent | SessionEvent): void {
  const { log, onEvent } = settings;
  log.event(event);
  if (onEvent === undefined) return;
  try {
    const handled = onEvent(event);
    if (handled !== undefined) Promise.resolve(handled).catch((thrown) => log.threw("onEvent", thrown));
  } catch (thrown) {
    log.threw("onEvent", thrown);
  }
}
