// The public events, from what the core tells and what the wrapper knows.
import type { CallEvent, JsonRpcError, JsonRpcNotification, SessionEvent } from "../api/events.js";
import type { EventOutput } from "../core/protocol.js";
import type { Settings } from "../options/settings.js";
import type { Acks, Timers } from "./ack.js";

/** The public event of a message of a call. A malformed progress is what it is, a message. */
export function messageEvent(
  { at, type }: { at: number; type: "message" | "progress" },
  requestId: string | number,
  message: object,
): CallEvent {
  if (type === "progress") return progressEvent(at, requestId, message as JsonRpcNotification);
  return { at, type, requestId, message: message as JsonRpcNotification };
}

/** The public event of a call, that is no message. */
export function callEvent(
  output: EventOutput,
  { id: requestId, tool }: { id: string | number; tool: string | undefined },
): CallEvent {
  const { at, type } = output;
  // Those of each call; the others are copied member by member.
  if (type === "open") return { at, type, requestId, status: output.status } as CallEvent;
  if (type === "sent") {
    const { wireId, reissue } = output;
    const sent = { at, type, requestId, wireId, reissue };
    return (tool === undefined ? sent : { ...sent, tool }) as CallEvent;
  }
  const { out: _out, call: _call, ...fields } = output;
  return { ...fields, requestId } as CallEvent;
}

function progressEvent(at: number, requestId: string | number, notification: JsonRpcNotification): CallEvent {
  const { progress, total, message } = notification.params ?? {};
  if (typeof progress !== "number") return { at, type: "message", requestId, message: notification };
  const event: CallEvent & { type: "progress" } = { at, requestId, type: "progress", progress };
  if (typeof total === "number") event.total = total;
  if (typeof message === "string") event.message = message;
  return event;
}

/** The public event of a session, that is no message. */
export function sessionEvent({ out: _out, ...fields }: EventOutput): SessionEvent {
  return fields as SessionEvent;
}

/** A JSON-RPC error with its members as the types say, whatever the server sent. */
export function jsonRpcError(error: unknown): JsonRpcError {
  const { code, message, data } = (error ?? {}) as { code?: unknown; message?: unknown; data?: unknown };
  return {
    code: Number.isSafeInteger(code) ? (code as number) : -32603,
    message: typeof message === "string" ? message : "the server answered with an error that has no message",
    ...(data === undefined ? {} : { data }),
  };
}

const none: never[] = [];

/** What an event belongs to whose handling is to be reported. */
export interface Handling extends Timers {
  readonly acks: Acks;
}

/** One who holds events of a call, and is done with them once. */
interface Holder {
  handling: Handling;
  done(ok: boolean): void;
}

/**
 * Runs a handler of the user's, called `name`, for those who hold what it is given: each is done when what it gives
 * settles, within `handlerMs`, or has failed. What it throws harms nothing.
 */
export function heed(
  { log, handlerMs }: Pick<Settings, "log" | "handlerMs">,
  name: string,
  run: () => unknown,
  holders: Holder[],
): void {
  const failed = (thrown: unknown) => log.threw(name, thrown);
  try {
    const handled = run();
    if (handled === undefined) {
      for (const { done } of holders) done(true);
      return;
    }
    const settled = Promise.resolve(handled);
    settled.catch(failed);
    for (const holder of holders) heedLater({ log, handlerMs }, name, settled, holder);
  } catch (thrown) {
    failed(thrown);
    for (const { done } of holders) done(false);
  }
}

function heedLater(
  { log, handlerMs }: Pick<Settings, "log" | "handlerMs">,
  name: string,
  handled: Promise<unknown>,
  holder: Holder,
): void {
  let isOver = false;
  const done = (ok: boolean) => {
    if (!isOver) holder.done(ok);
    isOver = true;
  };
  const stop = holder.handling.after(handlerMs, () => {
    log.threw(name, new Error(`it did not settle within handlerMs (${handlerMs} ms)`));
    done(false);
  });
  handled.finally(stop).then(
    () => done(true),
    () => done(false),
  );
}

/**
 * Hands an event to the logger and to `onEvent`. Never called inside an export. `onEvent` is a holder of an event that is
 * to be handled.
 */
export function emit(
  settings: Pick<Settings, "log" | "onEvent" | "handlerMs">,
  event: CallEvent | SessionEvent,
  handling?: Handling,
): void {
  const { log, onEvent } = settings;
  log.event(event);
  if (onEvent === undefined) return;
  const key = handling?.acks.share() ?? 0;
  const holders =
    handling === undefined ? none : [{ handling, done: (ok: boolean) => handling.acks.done(key, ok) }];
  // A copy: a loop may be given the same event, and neither shall see what the other does with it.
  heed(settings, "onEvent", () => onEvent({ ...event }), holders);
}
