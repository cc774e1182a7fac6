// Waiting: promises observed, bounded in time, or let go.
import { timers } from "./timers.js";

const nothing = () => {};

/** The same promise, with a rejection of it noted: left alone it ends no process. */
export function observed<T>(promise: Promise<T>): Promise<T> {
  promise.catch(nothing);
  return promise;
}

/** Starts something that may throw or reject, and is not waited for. */
export function ignored(start: () => unknown): void {
  try {
    Promise.resolve(start()).catch(nothing);
  } catch {
    // Asked for as a courtesy: its failure changes nothing.
  }
}

/**
 * Resolves in a macrotask of its own, which leaves nothing behind. Not by `setTimeout` where there is another way: in a
 * page that is not seen it takes a second.
 */
export function macrotask(): Promise<void> {
  return new Promise((resolve) => {
    const { setImmediate, MessageChannel } = timers;
    if (setImmediate !== undefined) {
      setImmediate(() => resolve());
    } else if (MessageChannel !== undefined) {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => {
        port1.close();
        resolve();
      };
      port2.postMessage(undefined);
    } else {
      timers.setTimeout(resolve, 0);
    }
  });
}

/** The longest wait that `setTimeout` takes, in milliseconds; a longer one would fire at once. */
export const longestWait = 2 ** 31 - 1;

interface Ear {
  readonly listeners: Set<() => void>;
  readonly stop: () => void;
}

// One listener on each signal, however many calls share it: Node warns of a leak where there are more than ten.
const ears = new WeakMap<AbortSignal, Ear>();

/**
 * Runs `listener` once when the signal is aborted; returns how to stop listening, for a signal may live for ever. It may
 * not throw.
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  const { listeners, stop } = ears.get(signal) ?? hear(signal);
  const own = () => listener();
  listeners.add(own);
  return () => {
    if (listeners.delete(own) && listeners.size === 0) stop();
  };
}

function hear(signal: AbortSignal): Ear {
  const listeners = new Set<() => void>();
  const tell = () => {
    ear.stop();
    // One of them may end another.
    for (const each of [...listeners]) if (listeners.delete(each)) each();
  };
  const ear = {
    listeners,
    stop: () => {
      if (ears.get(signal) === ear) ears.delete(signal);
      signal.removeEventListener("abort", tell);
    },
  };
  signal.addEventListener("abort", tell, { once: true });
  ears.set(signal, ear);
  return ear;
}

/**
 * What `start` gives, or a rejection with `late()` after `ms`, or with the signal's reason. Neither the timer nor the
 * listener on the signal outlives the first of these.
 */
export function within<T>(
  ms: number,
  start: () => T | Promise<T>,
  late: () => Error,
  signal?: AbortSignal,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let given: T | Promise<T>;
    try {
      given = start();
    } catch (thrown) {
      reject(thrown);
      return;
    }
    if (!isThenable(given)) {
      resolve(given);
      return;
    }
    const end = () => {
      timers.clearTimeout(timer);
      stopListening?.();
    };
    const refuse = (why: unknown) => {
      end();
      reject(why);
    };
    const timer = timers.setTimeout(() => refuse(late()), Math.min(ms, longestWait));
    const stopListening = signal && onAbort(signal, () => refuse(signal.reason));
    Promise.resolve(given).finally(end).then(resolve, reject);
  });
}

/** Whether it is to be waited for. */
export function isThenable<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === "function";
}
