// The request of a Worker that a session belongs to.

/** workerd's own: none of its objects that do I/O may even be looked at from another request. */
interface Workerd {
  WebSocketPair?: new () => { 0: { readonly readyState: number } };
}

/**
 * The request of a Worker in which something was opened: workerd lets no other request use its streams and timers, except
 * in a Durable Object, whose requests are one. Everywhere else there is one for all.
 */
export class WorkerContext {
  // Never connected, and seen by nobody: it tells where it was made.
  readonly #socket = socket();

  /** Whether the code that runs now runs for another request. */
  get isElsewhere(): boolean {
    try {
      void this.#socket?.readyState;
      return false;
    } catch {
      return true;
    }
  }
}

function socket(): { readonly readyState: number } | undefined {
  const { WebSocketPair } = globalThis as Workerd;
  return WebSocketPair && new WebSocketPair()[0];
}

/** Why nothing can be done from another request. */
export const elsewhere =
  "this session belongs to another request: in Workers open one in each request, or keep one in a Durable Object";
