// What the bytes of a body are read from: its stream, or the whole of it where a runtime or a fetch of the user's has none.
import { ignored } from "../base/promise.js";

/** As much of a Response as its body takes. */
export interface BodyOwner {
  readonly body?: unknown;
  text?(): Promise<string>;
  arrayBuffer?(): Promise<ArrayBuffer>;
}

/** A body that is being read. */
export interface Source {
  read(): Promise<{ done?: boolean | undefined; value?: unknown }>;
  /** Gives up what is left of it. */
  cancel(): void;
  /** Lets go of it, once no `read()` is pending. */
  release(): void;
}

interface Streams {
  getReader?(): ReadableStreamDefaultReader<unknown>;
  [Symbol.asyncIterator]?(): AsyncIterator<unknown>;
  cancel?(): Promise<void>;
  destroy?(): unknown;
}

/** Begins to read. Throws for what can't be read in any way. */
export function sourceOf(response: BodyOwner): Source {
  const body = response.body as Streams | null | undefined;
  if (typeof body?.getReader === "function") return readerOf(body.getReader());
  const iterator = body?.[Symbol.asyncIterator]?.();
  if (body && iterator !== undefined) return iterated(body, iterator);
  // React Native has no stream, and what it has of `arrayBuffer()` throws.
  if (body !== null && typeof response.text === "function")
    return whole(async () => new TextEncoder().encode(await response.text?.()));
  if (body !== null && typeof response.arrayBuffer === "function")
    return whole(async () => response.arrayBuffer?.());
  if (body) throw new TypeError("the option fetch gave a Response whose body can't be read");
  return { read: async () => ({ done: true }), cancel: () => {}, release: () => {} };
}

/**
 * Cancels a body without waiting: in some runtimes it never resolves, in others it rejects. A stream of Node's is
 * destroyed.
 */
export function cancel(body: unknown): void {
  const stream = body as Streams | null | undefined;
  ignored(() => (typeof stream?.cancel === "function" ? stream.cancel() : stream?.destroy?.()));
}

function readerOf(reader: ReadableStreamDefaultReader<unknown>): Source {
  // It rejects where the body fails, and nobody waits for it.
  ignored(() => reader.closed);
  return {
    read: () => reader.read(),
    cancel: () => cancel(reader),
    release: () => ignored(() => reader.releaseLock()),
  };
}

/** A stream of Node's, as node-fetch has it. */
function iterated(body: Streams, iterator: AsyncIterator<unknown>): Source {
  return {
    read: () => iterator.next(),
    cancel: () => {
      // What is read at this moment holds up the iterator's own end.
      cancel(body);
      ignored(() => iterator.return?.());
    },
    release: () => {},
  };
}

function whole(read: () => Promise<unknown>): Source {
  let isRead = false;
  return {
    async read() {
      if (isRead) return { done: true };
      isRead = true;
      return { value: await read() };
    },
    cancel: () => {},
    release: () => {},
  };
}
