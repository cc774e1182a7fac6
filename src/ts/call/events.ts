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

/** What an event belongs to whose handling is to be reported. */
export interface Handling extends Timers {
  readonly acks: Acks;
}

/**
 * Hands an event to the logger and to `onEvent`. Never called inside an export; what they throw harms nothing. `onEvent` is
 * a holder of an event that is to be handled, for `handlerMs` at most.
 */
export function emit(
  settings: Pick<Settings, "log" | "onEvent" | "handlerMs">,
  event: CallEvent | SessionEvent,
  handling?: Handling,
): void {
  const { log, onEvent, handlerMs } = settings;
  log.event(event);
  if (onEvent === undefined) return;
  const key = handling?.acks.share() ?? 0;
  let isOver = false;
  const done = (ok: boolean) => {
    if (!isOver) handling?.acks.done(key, ok);
    isOver = true;
  };
  const failed = (thrown: unknown) => {
    log.threw("onEvent", thrown);
    done(false);
  };
  try {
    // A copy: a loop may be given the same event, and neither shall see what the other does with it.
    const handled = onEvent({ ...event });
    if (handled === undefined) {
      done(true);
      return;
    }
    const late = () => failed(new Error(`it did not settle within handlerMs (${handlerMs} ms)`));
    const stop = handling?.after(handlerMs, late);
    const settled = Promise.resolve(handled).finally(stop);
    settled.then(() => done(true), failed);
  } catch (thrown) {
    failed(thrown);
  }
}
