// Requests whose connection keeps no process alive.
import { builtin } from "../base/runtime.js";

interface Channels {
  subscribe?(name: string, hear: (told: Told) => void): void;
  unsubscribe?(name: string, hear: (told: Told) => void): void;
}

interface Hooks {
  AsyncLocalStorage?: new () => { run<T>(mark: true, start: () => T): T; getStore(): true | undefined };
}

/** What Node's own fetch tells of its requests. */
interface Told {
  request: object;
  socket?: { unref?(): void };
}

const created = "undici:request:create";
const sent = "undici:client:sendHeaders";

/**
 * Starts a request that waits for what may never come: a Node process that has nothing else to do ends nevertheless. Where
 * the runtime does not tell of the connections of its fetch, it is a request like others.
 */
export function unheld(start: () => Promise<Response>): Promise<Response> {
  const { subscribe, unsubscribe } = builtin<Channels>("node:diagnostics_channel") ?? {};
  const { AsyncLocalStorage } = builtin<Hooks>("node:async_hooks") ?? {};
  if (!subscribe || !unsubscribe || !AsyncLocalStorage) return start();
  const storage = new AsyncLocalStorage();
  const ours = new WeakSet<object>();
  const onCreated = ({ request }: Told) => {
    if (storage.getStore() === true) ours.add(request);
  };
  const onSent = ({ request, socket }: Told) => {
    if (ours.has(request)) socket?.unref?.();
  };
  subscribe(created, onCreated);
  subscribe(sent, onSent);
  return storage.run(true, start).finally(() => {
    unsubscribe(created, onCreated);
    unsubscribe(sent, onSent);
  });
}
