// Instances of the module, and the guard around their exports.
import { isThenable, observed } from "../base/promise.js";
import { isBrowser } from "../base/runtime.js";
import { textOf } from "../base/thrown.js";
import type { Core, CreateCore } from "./protocol.js";

/** Gives the compiled module. Called again only after it failed. */
export type LoadModule = () => WebAssembly.Module | Promise<WebAssembly.Module>;

/** Whoever has a handle in an instance. */
export interface Seat {
  /** The instance is lost, and with it the handle. May not throw. */
  lost(text: string): void;
}

// Chromium refuses the 124th live instance of a page; other code needs some, too.
const browserCap = 24;

/** One WebAssembly instance with the guard around its exports. */
export class Instance {
  #core: Core | undefined;
  #panic = "";
  readonly #seats = new Set<Seat>();

  constructor(core: Core) {
    this.#core = core;
  }

  /** How many handles live in it. */
  get used(): number {
    return this.#seats.size;
  }

  /** Whether a trap ended it, or its last handle has left. */
  get isLost(): boolean {
    return this.#core === undefined;
  }

  /** Takes a seat: it is told of a loss. */
  join(seat: Seat): void {
    this.#seats.add(seat);
  }

  /** Gives it back. A memory only grows: with the last seat the instance goes, whoever still holds a closed session. */
  leave(seat: Seat): void {
    this.#seats.delete(seat);
    if (this.#seats.size === 0) this.#core = undefined;
  }

  /** Keeps the text of a panic for the trap that follows. */
  panicked(text: string): void {
    this.#panic = text;
  }

  /**
   * Runs one export. Whatever is thrown out of one means that the instance is lost: it is dropped without another
   * call into it, its seats are told, and the answer is `undefined`, as it is from then on.
   */
  enter<T>(use: (core: Core) => T): T | undefined {
    if (this.#core === undefined) return undefined;
    try {
      return use(this.#core);
    } catch (thrown) {
      this.#lose(thrown);
      return undefined;
    }
  }

  #lose(thrown: unknown): void {
    const core = this.#core;
    this.#core = undefined;
    core?.retire();
    const seats = [...this.#seats];
    this.#seats.clear();
    const text = this.#panic === "" ? textOf(thrown) : this.#panic;
    for (const seat of seats) seat.lost(text);
  }
}

/** The instances of one entry point: one per session, from one module that is compiled once. */
export class Instances {
  readonly #load: LoadModule;
  readonly #create: CreateCore;
  #loading: Promise<WebAssembly.Module> | undefined;
  #module: WebAssembly.Module | undefined;
  // Weak: a session that was forgotten without close() takes its instance with it.
  #live: WeakRef<Instance>[] = [];

  constructor(load: LoadModule, create: CreateCore) {
    this.#load = load;
    this.#create = create;
  }

  /** Loads the module, once. It is waited for only where it is not at hand: in workerd it is imported. */
  ready(): void | Promise<void> {
    if (this.#module !== undefined) return undefined;
    if (this.#loading === undefined) {
      const loaded = this.#load();
      if (!isThenable(loaded)) {
        this.#module = loaded;
        return undefined;
      }
      this.#loading = observed(loaded);
    }
    return this.#settle(this.#loading);
  }

  /** An instance for one more session, after {@link ready}. Throws where the runtime gives none and none is left. */
  acquire(): Instance {
    const live = this.#live
      .map((ref) => ref.deref())
      .filter((each) => each !== undefined && !each.isLost && each.used > 0);
    const shared = (live as Instance[]).reduce<Instance | undefined>(
      (least, each) => (least === undefined || each.used < least.used ? each : least),
      undefined,
    );
    if (shared !== undefined && live.length >= browserCap && isBrowser()) return shared;
    try {
      const made = new Instance(this.#create(this.#module as WebAssembly.Module));
      this.#live = [...(live as Instance[]), made].map((each) => new WeakRef(each));
      return made;
    } catch (thrown) {
      if (shared === undefined) throw thrown;
      return shared;
    }
  }

  async #settle(loading: Promise<WebAssembly.Module>): Promise<void> {
    try {
      this.#module = await loading;
    } catch (thrown) {
      // A failed download says nothing about the next one.
      if (this.#loading === loading) this.#loading = undefined;
      throw thrown;
    }
  }
}
