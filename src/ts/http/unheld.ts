// Requests whose connection keeps no process alive.
import { builtin } from "../base/runtime.js";

interface Channels {
  subscribe?(name: string, hear: (told: Told) => void): void;
  unsubscribe?(name: string, hear: (told: Told) => void): void;
}

interface Storage {
  run<T>(mark: true, start: () => T): T;
  getStore(): true | undefined;
  disable(): void;
}

interface Hooks {
  AsyncLocalStorage?: new () => Storage;
}

/** What Node's own fetch tells of its requests. */
interface Told {
  request: object;
  socket?: { unref?(): void };
}

const created = "undici:request:create";
const sent = "undici:client:sendHeaders";

// One for all: whatever is asynchronous in a process costs more with each that is enabled, and by itself none is ever disabled.
let storage: Storage | undefined;
let starting = 0;

/**
 * Starts a request that waits for what may never come: a Node process that has nothing else to do ends nevertheless. Where
 * the runtime does not tell of the connections of its fetch, it is a request like others.
 */
export function unheld(start: () => Promise<Response>): Promise<Response> {
  const { subscribe, unsubscribe } = builtin<Channels>("node:diagnostics_channel") ?? {};
  const { AsyncLocalStorage } = builtin<Hooks>("node:async_hooks") ?? {};
  if (!subscribe || !unsubscribe || !AsyncLocalStorage) return start();
  storage ??= new AsyncLocalStorage();
  const marks = storage;
  const ours = new WeakSet<object>();
  const onCreated = ({ request }: Told) => {
    if (marks.getStore() === true) ours.add(request);
  };
  const onSent = ({ request, socket }: Told) => {
    if (ours.has(request)) socket?.unref?.();
  };
  subscribe(created, onCreated);
  subscribe(sent, onSent);
  starting += 1;
  return marks.run(true, start).finally(() => {
    unsubscribe(created, onCreated);
    unsubscribe(sent, onSent);
    starting -= 1;
    if (starting === 0) marks.disable();
  });
}
