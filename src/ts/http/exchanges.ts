// HTTP requests: their headers, their abort, what became of them.
import type { ConnectOptions, FetchLike } from "../api/options.js";
import type { Log } from "../base/log.js";
import { observed, onAbort, within } from "../base/promise.js";
import type { ServerText } from "../base/server-text.js";
import { brief, harmless, textOf } from "../base/thrown.js";
import { isExposed } from "./addresses.js";
import { BodyPump, type BodySink } from "./body.js";
import type { Credentials, Failure } from "./credentials.js";
import { cancel } from "./source.js";
import { unheld } from "./unheld.js";

/** What the exchanges tell of bodies. */
export interface ExchangeSink {
  /** A request is handed to `fetch`. */
  sent(exchange: number): void;
  /** Whether a header of this name is not the user's to give. */
  isReserved(name: string): boolean;
  /** This value goes to the server, and is not to be shown. */
  learned(secret: string): void;
  push(exchange: number, bytes: Uint8Array): void;
  end(exchange: number): void;
  fail(exchange: number, message: string, code: string): void;
}

/** The headers of one call. */
export interface CallHeaders {
  /** The caller's own; reserved names are left out. */
  given?: HeadersInit | undefined;
  /** `false`: a stream that is opened with these keeps no process alive. */
  keepsAlive?: boolean;
}

interface Exchange {
  readonly controller: AbortController;
  readonly call: number | undefined;
  pump?: BodyPump;
}

// Told like codes of the runtime's: no byte of the request has left, for what it needs can't be had, or did not come.
const notSent = "LANDFALL_NOT_SENT";
const tooLate = "LANDFALL_LATE";

const mostKept = 1_000;

/** What of the user's goes into each request. */
export interface ExchangeSettings {
  fetch: FetchLike | undefined;
  requestInit: RequestInit;
  headers: ConnectOptions["headers"];
  /** The longest wait for `headers()`, for a provider of credentials, and for the module. */
  handshakeMs: number;
  /** The same as messages name it. */
  handshakeClock: string;
  credentials: Credentials | undefined;
  /** What the server says, and what it is not to say. */
  serverText: ServerText;
  log: Log;
}

/** What the core reads of a Response. */
export type Head = Pick<Response, "status" | "headers"> &
  Partial<Pick<Response, "redirected" | "type" | "url">>;

/**
 * The HTTP exchanges of one handle: each with an AbortController of its own, so that they can all be ended from here,
 * also when the core that asked for them is lost.
 */
export class Exchanges {
  readonly #settings: ExchangeSettings;
  readonly #sink: ExchangeSink;
  readonly #open = new Map<number, Exchange>();
  readonly #warned = new Set<string>();
  readonly #toldSecrets = new Set<string>();
  readonly #reserved = new Map<string, boolean>();
  readonly #failures = new Map<number, Failure>();
  #muted = false;

  constructor(settings: ExchangeSettings, sink: ExchangeSink) {
    this.#settings = settings;
    this.#sink = sink;
  }

  /**
   * Starts a request in a microtask of its own: a `fetch` of the user's never runs inside an export. Resolves with the
   * head; the body is read when {@link read} says so. `callHeaders` is asked in that microtask. `call` is the call that
   * it is for, where it is for one.
   */
  open(
    exchange: number,
    url: string,
    init: RequestInit,
    callHeaders: () => CallHeaders | undefined,
    call?: number,
  ): Promise<Head> {
    return this.#start(exchange, call, (signal) => this.#send(exchange, url, init, callHeaders(), signal));
  }

  /** The same, of a request that carries nothing but what is in `init`. */
  openBare(exchange: number, url: string, init: RequestInit): Promise<Head> {
    return this.#start(exchange, undefined, (signal) => this.#fetch(url, { ...init, signal }));
  }

  #start(
    exchange: number,
    call: number | undefined,
    send: (signal: AbortSignal) => Promise<Response>,
  ): Promise<Head> {
    const entry: Exchange = { controller: new AbortController(), call };
    this.#open.set(exchange, entry);
    const { signal } = entry.controller;
    return observed(
      new Promise((resolve, reject) => {
        // A lost instance must hear nothing: what it awaits would run code of it.
        const refuse = (thrown: unknown) => {
          if (!this.#muted) reject(thrown);
        };
        const stopListening = onAbort(signal, () => refuse(signal.reason));
        Promise.resolve()
          .then(() => send(signal))
          .then((response) => {
            refuseRead(response);
            if (signal.aborted) {
              cancel(response.body);
              return;
            }
            if (call !== undefined) this.#hear(call, response);
            entry.pump = new BodyPump(response, this.#bodySink(exchange, call));
            resolve(response);
          })
          .catch((given) => {
            const thrown = harmless(given);
            this.#forget(exchange, entry);
            if (!signal.aborted) this.#note(call, thrown);
            refuse(brief(thrown));
          })
          // A runtime may keep the signal for ever: nothing of the exchange may hang on it.
          .finally(stopListening);
      }),
    );
  }

  /** Reads the body of an exchange, or holds it. */
  read(exchange: number, on: boolean): void {
    const pump = this.#open.get(exchange)?.pump;
    if (on) pump?.resume();
    else pump?.pause();
  }

  /** Ends an exchange: its fetch is aborted, its body cancelled. */
  abort(exchange: number): void {
    const entry = this.#open.get(exchange);
    if (entry === undefined) return;
    this.#open.delete(exchange);
    entry.pump?.stop();
    // The reason may reach a proxy or a fetch of the user's, so it is the same for all.
    entry.controller.abort(new DOMException("landfall ended this exchange", "AbortError"));
  }

  /** What `fetch`, `headers()` or the body threw in the last exchange of a call, or what refused it. */
  failureOf(call: number): Failure {
    return this.#failures.get(call) ?? {};
  }

  /** The same of a call that has ended now. */
  takeFailure(call: number): Failure {
    const failure = this.failureOf(call);
    this.#failures.delete(call);
    return failure;
  }

  /** Ends those of one call. */
  abortCall(call: number): void {
    for (const [exchange, entry] of [...this.#open]) if (entry.call === call) this.abort(exchange);
  }

  /** Ends all, at the end of a session. */
  abortAll(): void {
    for (const exchange of [...this.#open.keys()]) this.abort(exchange);
  }

  /** Ends all, and lets no promise given to the core settle any more. */
  abandon(): void {
    this.#muted = true;
    this.abortAll();
  }

  async #send(
    exchange: number,
    url: string,
    init: RequestInit,
    callHeaders: CallHeaders | undefined,
    signal: AbortSignal,
  ): Promise<Response> {
    const headers = await this.#headers(init.headers, callHeaders, signal).catch((thrown) => {
      const known = harmless(thrown);
      throw known instanceof Unsendable ? known : new Unsendable(textOf(known), known);
    });
    this.#keepSecret(headers, url);
    signal.throwIfAborted();
    this.#sink.sent(exchange);
    const send = () => this.#fetch(url, { ...this.#settings.requestInit, ...init, headers, signal });
    return callHeaders?.keepsAlive === false && isEndless(init) ? unheld(send) : send();
  }

  async #fetch(url: string, init: RequestInit): Promise<Response> {
    // Read now, for it may be replaced at any time, and called bare: with a receiver it is an "Illegal invocation".
    const send = this.#settings.fetch ?? globalThis.fetch;
    const response = await send(url, init);
    if (typeof response?.status !== "number" || typeof response.headers?.get !== "function")
      throw new TypeError("the option fetch gave something that is no Response");
    // A response that fetch hides has none, which is 0.
    if (!Number.isInteger(response.status) || response.status < 0 || response.status > 999)
      throw new TypeError(`the option fetch gave a Response whose status is ${response.status}`);
    return response;
  }

  /**
   * The core's headers above those of the call, above those of the session, above `requestInit`'s; the provider's token
   * above any other.
   */
  async #headers(
    own: HeadersInit | undefined,
    callHeaders: CallHeaders | undefined,
    signal: AbortSignal,
  ): Promise<Headers> {
    const { requestInit, headers: given, credentials } = this.#settings;
    const usable = (headers: HeadersInit | undefined) => new Headers(headers ?? undefined);
    const asked = typeof given === "function" ? await this.#asked("headers()", given, usable, signal) : given;
    const merged = new Headers();
    for (const layer of [requestInit.headers, asked, callHeaders?.given]) {
      if (layer !== undefined && layer !== null) this.#merge(merged, new Headers(layer));
    }
    if (credentials !== undefined) {
      const bearer = (token: string | undefined) => {
        // What fetch says of a value that it refuses shows the value.
        if (token && !/^[\t\x20-\x7e\x80-\xff]+$/.test(token)) throw new TypeError("no header can carry it");
        if (token) merged.set("authorization", `Bearer ${token}`);
      };
      await this.#asked("authProvider.token()", () => credentials.token(), bearer, signal);
    }
    for (const [name, value] of new Headers(own)) merged.set(name, value);
    return merged;
  }

  /** What the user sends is nothing that a message may show. */
  #keepSecret(headers: Headers, url: string): void {
    for (const [name, value] of headers) {
      if (this.#isReserved(name) || isPublic(name)) continue;
      for (const secret of this.#settings.serverText.learn(name, value)) this.#tellSecret(secret);
    }
    const warning = "in the clear";
    if (!headers.has("authorization") || this.#warned.has(warning) || !isExposed(url)) return;
    this.#warned.add(warning);
    this.#settings.log.write("warn", `credentials go to ${new URL(url).origin} by plain http`);
  }

  /** To each core once. */
  #tellSecret(secret: string): void {
    if (this.#toldSecrets.has(secret)) return;
    if (this.#toldSecrets.size > mostKept) this.#toldSecrets.clear();
    this.#toldSecrets.add(secret);
    this.#sink.learned(secret);
  }

  /** What a function of the user's gives, put to use; where it can't be, the error says that it was asked. */
  async #asked<T, U>(
    name: string,
    ask: () => T | Promise<T>,
    use: (given: T) => U,
    signal: AbortSignal,
  ): Promise<U> {
    const { handshakeMs, handshakeClock } = this.#settings;
    let problem = "threw";
    let code = notSent;
    const late = () => {
      problem = "is late";
      code = tooLate;
      return new Error(`it gave nothing within ${handshakeClock}`);
    };
    try {
      const given = await within(handshakeMs, ask, late, signal);
      problem = "gave what can't be used";
      return use(given);
    } catch (given) {
      const thrown = harmless(given);
      // What landfall says of a provider that is late is not the provider's word.
      const byProvider = name.startsWith("authProvider") && code !== tooLate;
      throw new Unsendable(`${name} ${problem}: ${textOf(thrown)}`, thrown, { byProvider, code });
    }
  }

  /** Asked once for each name. */
  #isReserved(name: string): boolean {
    const known = this.#reserved.get(name);
    if (known !== undefined) return known;
    if (this.#reserved.size > mostKept) this.#reserved.clear();
    const isReserved = this.#sink.isReserved(name);
    this.#reserved.set(name, isReserved);
    return isReserved;
  }

  #merge(into: Headers, layer: Headers): void {
    for (const [name, value] of layer) {
      if (!this.#isReserved(name)) {
        into.set(name, value);
      } else if (!this.#warned.has(name)) {
        this.#warned.add(name);
        this.#settings.log.write("warn", `the header ${name} is landfall's own: the one given is left out`);
      }
    }
  }

  #bodySink(exchange: number, call: number | undefined): BodySink {
    return {
      push: (bytes) => this.#sink.push(exchange, bytes),
      end: () => {
        this.#open.delete(exchange);
        this.#sink.end(exchange);
      },
      fail: (message, code, thrown) => {
        // Of a refusal whose body broke the head is known all the same.
        this.#note(call, harmless(thrown), call === undefined ? {} : this.failureOf(call));
        this.#open.delete(exchange);
        this.#sink.fail(exchange, message, code);
      },
    };
  }

  /** Keeps what the last exchange of a call ended with: the cause of its failure, should it fail. */
  #note(call: number | undefined, thrown: unknown, known: Failure = {}): void {
    if (call === undefined) return;
    const failure =
      thrown instanceof Unsendable
        ? { thrown: thrown.thrown, unsendable: thrown.message, byProvider: thrown.byProvider }
        : { thrown };
    this.#keep(call, { ...known, ...failure });
  }

  /** Kept until the call ends. Those that are no caller's are taken by nobody: the oldest make room. */
  #keep(call: number, failure: Failure): void {
    this.#failures.delete(call);
    this.#failures.set(call, failure);
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > mostKept && oldest !== undefined) this.#failures.delete(oldest);
  }

  /** A response to a call has come. A refusal is kept for the provider of credentials, and for the failure. */
  #hear(call: number, response: Response): void {
    if (response.status >= 400) this.#keep(call, { refusal: headOf(response) });
    else this.#failures.delete(call);
  }

  #forget(exchange: number, entry: Exchange): void {
    if (this.#open.get(exchange) === entry) this.#open.delete(exchange);
  }
}

/** The headers can't be had, so that nothing is sent. */
class Unsendable extends Error {
  readonly thrown: unknown;
  readonly byProvider: boolean;

  constructor(message: string, thrown: unknown, { byProvider = false, code = notSent } = {}) {
    super(message, { cause: { code } });
    this.thrown = thrown;
    this.byProvider = byProvider;
  }
}

/** The head of a response, which outlives it: the body is the core's to read. A fetch of the user's may give anything. */
function headOf(response: Response): Response {
  try {
    const { status, statusText, headers } = response;
    return new Response(null, { status, statusText, headers });
  } catch {
    return new Response(null, { status: 500 });
  }
}

/** Throws for what a `fetch` of the user's gave, who has read its body already: that would look like a clean end. */
function refuseRead(response: Response): void {
  if (response.bodyUsed === true || response.body?.locked === true)
    throw new TypeError("the option fetch gave a Response whose body was read already, or is locked");
}

/** What every browser tells everyone. */
function isPublic(name: string): boolean {
  return name === "user-agent" || name === "accept-language" || name === "origin" || name === "referer";
}

/** A stream for what belongs to no call, which may have nothing to say for days. */
function isEndless({ method, headers }: RequestInit): boolean {
  return method === "GET" || new Headers(headers).get("mcp-method") === "subscriptions/listen";
}
