import type { Why } from "./events.js";

/**
 * The request of a Worker in which something was opened: workerd lets no other request use its streams, timers and
 * signals, except in a Durable Object, whose requests are one. Everywhere else all is one home.
 */
export class Home {
  readonly #signal = new AbortController().signal;

  /** Whether the code that runs now runs for another request. */
  get isElsewhere(): boolean {
    try {
      return this.#signal.aborted;
    } catch {
      // "Cannot perform I/O on behalf of a different request": a signal is not even looked at from another one.
      return true;
    }
  }
}

/** Why nothing can be done from another request. */
export const elsewhere: Why = {
  reason: "closed",
  outcome: "not_sent",
  message:
    "this session belongs to another request: in Workers open one in each request, or keep one in a Durable Object",
};
