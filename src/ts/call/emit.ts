// Hands an event to the logger and to `onEvent`.
import type { CallEvent, SessionEvent } from "../api/events.js";
import type { Settings } from "../options/settings.js";
import type { Ack } from "./ack.js";

/**
 * Hands an event to the logger and to `onEvent`. Never called inside an export; what they throw harms nothing. With a
 * ack, `onEvent` is a holder of it, for `handlerMs` at most.
 */
export function emit(
  settings: Pick<Settings, "log" | "onEvent" | "handlerMs">,
  event: CallEvent | SessionEvent,
  ack?: Ack,
): void {
  const { log, onEvent, handlerMs } = settings;
  log.event(event);
  if (onEvent === undefined) return;
  ack?.share();
  const failed = (thrown: unknown) => {
    log.threw("onEvent", thrown);
    ack?.done(false);
  };
  try {
    // A copy: a loop may be given the same event, and neither shall see what the other does with it.
    const handled = onEvent({ ...event });
    if (handled === undefined) {
      ack?.done(true);
      return;
    }
    const late = () => failed(new Error(`it did not settle within handlerMs (${handlerMs} ms)`));
    const stop = ack?.timers.after(handlerMs, late);
    const settled = Promise.resolve(handled).finally(stop);
    settled.then(() => ack?.done(true), failed);
  } catch (thrown) {
    failed(thrown);
  }
}
