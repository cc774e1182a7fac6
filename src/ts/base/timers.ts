// The runtime's timers and its clock, as they are when landfall is imported: a test of the user's may put fake ones in
// their place later, which would leave a call or a handshake waiting for ever.

const runtime = globalThis;

/** What `setTimeout` gives. */
export type Timer = ReturnType<typeof runtime.setTimeout>;

/** To be called bare: where a script runs in a sandbox, as Firefox has for extensions, its global is no receiver. */
function taken<T extends (...args: never[]) => unknown>(given: T): T {
  return given?.bind(undefined) as T;
}

/** The only ones that are used here. */
export const timers: {
  readonly setTimeout: (run: () => void, ms: number) => Timer;
  readonly clearTimeout: (timer: Timer | undefined) => void;
  readonly queueMicrotask: (run: () => void) => void;
  /** Not in browsers. */
  readonly setImmediate: ((run: () => void) => unknown) | undefined;
  readonly MessageChannel: typeof MessageChannel | undefined;
  /** Milliseconds since whenever; never less than before. */
  readonly now: () => number;
} = {
  setTimeout: taken(runtime.setTimeout),
  clearTimeout: taken(runtime.clearTimeout),
  queueMicrotask: taken(runtime.queueMicrotask),
  setImmediate: taken(runtime.setImmediate),
  MessageChannel: runtime.MessageChannel,
  now: runtime.performance.now.bind(runtime.performance),
};
