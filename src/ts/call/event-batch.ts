// Events on their way to a handler that takes them in arrays.
import type { CallEvent, SessionEvent } from "../api/events.js";
import { type Handling, heed } from "./events.js";

type Handler = (events: (CallEvent | SessionEvent)[]) => unknown;

/** Gathers the events of one turn, and gives them to a handler in one array, which is a holder of each. */
export class EventBatch {
  // Waiting for it is cheaper than a microtask of the runtime's. None is made at module scope: it would be of no request.
  readonly #settled = Promise.resolve();
  readonly #settings: Parameters<typeof heed>[0];
  readonly #name: string;
  readonly #handler: () => Handler | undefined;
  #events: (CallEvent | SessionEvent)[] = [];
  // The keys of those that are to be handled, by their calls.
  #held = new Map<Handling, number[]>();

  constructor(settings: Parameters<typeof heed>[0], name: string, handler: () => Handler | undefined) {
    this.#settings = settings;
    this.#name = name;
    this.#handler = handler;
  }

  /** One more event, which is nobody else's; with its acks, while it is being handed out. */
  add(event: CallEvent | SessionEvent, handling?: Handling): void {
    if (this.#events.push(event) === 1) void this.#settled.then(() => this.#flush());
    if (handling === undefined) return;
    const keys = this.#held.get(handling) ?? [];
    keys.push(handling.acks.share());
    this.#held.set(handling, keys);
  }

  #flush(): void {
    const events = this.#events;
    const held = [...this.#held].map(([handling, keys]) => ({
      handling,
      done: (ok: boolean) => {
        for (const key of keys) handling.acks.done(key, ok);
      },
    }));
    this.#events = [];
    this.#held = new Map();
    heed(this.#settings, this.#name, () => this.#handler()?.(events), held);
  }
}
