// Records with texts, and heads, in the form that src/web knows.
import type { Head } from "../http/head.js";
import type { Manner } from "../http/request.js";
import type { EventOutput, MadeOutput, RawCore, TransmitOutput } from "./protocol.js";

const methods = ["GET", "POST", "DELETE"] as const;
const manners: readonly Manner[] = ["guarded", "following", "bare"];

/** The short texts of a batch, one after the other. */
export class Texts {
  readonly #all: string;
  #at = 0;

  constructor(all: string) {
    this.#all = all;
  }

  /** The next one, of so many UTF-16 units. */
  next(length: number): string {
    const start = this.#at;
    this.#at += length;
    return this.#all.slice(start, this.#at);
  }
}

/** The request whose record begins there. */
export function requestOf(
  numbers: Float64Array,
  at: number,
  texts: Texts,
  body: string | undefined,
): TransmitOutput {
  const number = (place: number) => numbers[at + place] as number;
  const [call, urlLength, count] = [number(2), number(5), number(8)];
  const url = urlLength === 0 ? undefined : texts.next(urlLength);
  const headers: Record<string, string> = {};
  for (let place = 9; place < 9 + 2 * count; place += 2) {
    const name = texts.next(number(place));
    headers[name] = texts.next(number(place + 1));
  }
  return {
    out: "transmit",
    exchange: number(1),
    call: call < 0 ? undefined : call,
    url,
    method: methods[number(3)] as TransmitOutput["method"],
    manner: manners[number(4)] as Manner,
    headers,
    body,
  };
}

/** The call whose record begins there, as it was made. */
export function madeOf(numbers: Float64Array, at: number, texts: Texts): MadeOutput {
  const number = (place: number) => numbers[at + place] as number;
  const [deadlineMs, connectMs] = [number(2), number(3)];
  const made = { out: "made", call: number(1), requestId: texts.next(number(4)) } as const;
  return deadlineMs < 0 ? made : { ...made, deadlineMs, connectMs };
}

/** The `sent` event whose record begins there. */
export function sentOf(numbers: Float64Array, at: number, texts: Texts): EventOutput {
  const number = (place: number) => numbers[at + place] as number;
  const wireId = number(4) === 1 ? texts.next(number(5)) : number(5);
  return { out: "event", call: number(1), at: number(2), type: "sent", wireId, reissue: number(3) === 1 };
}

// Bits of one number.
const challenges = { none: 0, some: 1, scope: 1 + 2 };
const redirects = { none: 0, leads: 4, followed: 8, hidden: 16 };
const sameOrigin = 32;

/** Enters by `head`. */
export function withHead(
  head: RawCore["head"],
  handle: number,
  now: number,
  exchange: number,
  { status, challenge, redirect, isSameOrigin, contentType, sessionId, retryAfter, target }: Head,
): number {
  const marks = challenges[challenge] + redirects[redirect] + (isSameOrigin ? sameOrigin : 0);
  return head(handle, now, exchange, status, marks, contentType, sessionId, retryAfter, target);
}
