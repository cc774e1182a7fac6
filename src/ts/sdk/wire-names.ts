// The ids and progress tokens that go out in place of a Client's.
import { randomSeed } from "../base/runtime.js";

/** An id of a request, or a progress token. */
export type Name = string | number;

// Tasks tell their progress after the answer: a token is known for as long as so many later ones are.
const mostTokens = 4_096;

/**
 * Names of ours in place of a Client's. Every Client counts from 0, and servers name streams and stores by the id of a
 * request: under the Client's own, one gets the other's answer. Each is of the type of the one that it stands for, for
 * servers may know no other; none is given twice.
 */
export class WireNames {
  readonly #tokens = new Map<unknown, Name>();
  // Ours in a ring: a map steps over all that was deleted from it to find its oldest.
  readonly #ring: Name[] = [];
  #oldest = 0;
  #base: number | undefined;
  #count = 0;

  /** A new one in place of this. */
  of(theirs: Name): Name {
    // 48 bits, which leave room to count in what a double holds exactly; not before there is a message: a Worker has no
    // randomness at its start.
    this.#base ??= Math.floor(randomSeed() / 32);
    this.#count += 1;
    return typeof theirs === "number"
      ? this.#base + this.#count
      : `${this.#base.toString(36)}-${this.#count}`;
  }

  /** One in place of a progress token, which is known from now on. */
  ofToken(theirs: Name): Name {
    const ours = this.of(theirs);
    this.#tokens.set(ours, theirs);
    this.#tokens.delete(this.#ring[this.#oldest]);
    this.#ring[this.#oldest] = ours;
    this.#oldest = (this.#oldest + 1) % mostTokens;
    return ours;
  }

  /** Whether a Client's token goes by this one. */
  hasToken(ours: unknown): boolean {
    return this.#tokens.has(ours);
  }

  /** The same message with the Client's own token, where it tells of progress. */
  named(message: object): object {
    const { method, params } = message as { method?: string; params?: { progressToken?: unknown } };
    if (method !== "notifications/progress") return message;
    const progressToken = this.#tokens.get(params?.progressToken);
    return progressToken === undefined ? message : { ...message, params: { ...params, progressToken } };
  }
}

/** Whether it can name something. */
export function isName(value: unknown): value is Name {
  return typeof value === "string" || (typeof value === "number" && Number.isFinite(value));
}
