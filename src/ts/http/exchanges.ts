// HTTP requests: their headers, their abort, what became of them.
import type { ConnectOptions, FetchLike } from "../api/options.js";
import type { Log } from "../base/log.js";
import { within } from "../base/promise.js";
import { isBrowser } from "../base/runtime.js";
import type { ServerText } from "../base/server-text.js";
import { codeOf, harmless, messageOf, textOf } from "../base/thrown.js";
import { isExposed } from "./addresses.js";
import { BodyPump, type BodySink, Breath } from "./body.js";
import type { Credentials, Failure } from "./credentials.js";
import { type Head, headOf } from "./head.js";
import { type HttpRequest, initOf, isEndless } from "./request.js";
import { cancel } from "./source.js";
import { unheld } from "./unheld.js";

/** What the exchanges tell. */
export interface ExchangeSink {
  /** A request is handed to `fetch`. */
  sent(exchange: number): void;
  /** Whether a header of this name is not the user's to give. */
  isReserved(name: string): boolean;
  /** This value goes to the server, and is not to be shown. */
  learned(secret: string): void;
  /** A response has come; its body is read when that is asked for. */
  head(exchange: number, head: Head): void;
  push(exchange: number, bytes: Uint8Array): void;
  end(exchange: number): void;
  /** A request, or the reading of its body, failed. */
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

// The runtime's own, unless it was replaced before landfall was imported.
const ownFetch = globalThis.fetch;

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
  readonly #breath = new Breath();
  readonly #isBrowser = isBrowser();

  constructor(settings: ExchangeSettings, sink: ExchangeSink) {
    this.#settings = settings;
    this.#sink = sink;
  }

  /**
   * Starts a request to `url` in a microtask of its own: a `fetch` of the user's never runs inside an export. Its head is
   * told; the body is read when {@link read} says so. `callHeaders` is asked in that microtask.
   */
  open(request: HttpRequest, url: string, callHeaders: () => CallHeaders | undefined): void {
    const entry: Exchange = { controller: new AbortController(), call: request.call };
    this.#open.set(request.exchange, entry);
    void this.#run(entry, request, url, callHeaders);
  }

  /** Tells how a request went, unless it is ended from here before: then nothing is told any more. */
  async #run(
    entry: Exchange,
    request: HttpRequest,
    url: string,
    callHeaders: () => CallHeaders | undefined,
  ): Promise<void> {
    await undefined;
    const { exchange, call } = request;
    let head: Head;
    try {
      if (!this.#isOpen(exchange, entry)) return;
      const response = await this.#send(request, url, callHeaders, entry.controller.signal);
      refuseRead(response);
      if (!this.#isOpen(exchange, entry)) {
        cancel(response.body);
        return;
      }
      head = headOf(response, url);
      if (call !== undefined) this.#hear(call, response);
      entry.pump = new BodyPump(response, this.#bodySink(exchange, call), this.#breath);
    } catch (given) {
      if (!this.#isOpen(exchange, entry)) return;
      this.#open.delete(exchange);
      const thrown = harmless(given);
      this.#note(call, thrown);
      this.#sink.fail(exchange, messageOf(thrown), codeOf(thrown));
      return;
    }
    this.#sink.head(exchange, head);
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

  /** Whether it was not ended. */
  #isOpen(exchange: number, entry: Exchange): boolean {
    return this.#open.get(exchange) === entry;
  }

  async #send(
    request: HttpRequest,
    url: string,
    callHeaders: () => CallHeaders | undefined,
    signal: AbortSignal,
  ): Promise<Response> {
    const init = initOf(request, this.#isBrowser);
    init.signal = signal;
    if (request.manner === "bare") return this.#fetch(url, init);
    const of = callHeaders();
    init.headers = this.#isPlain(of)
      ? this.#ownHeaders(request.headers)
      : await this.#userHeaders(request.headers, of, url, signal);
    signal.throwIfAborted();
    this.#sink.sent(request.exchange);
    const send = () => this.#fetch(url, { ...this.#settings.requestInit, ...init });
    return of?.keepsAlive === false && isEndless(request) ? unheld(send) : send();
  }

  /** Nothing of the user's, and no credentials, go into the headers. */
  #isPlain(of: CallHeaders | undefined): boolean {
    const { headers, credentials, requestInit } = this.#settings;
    return !headers && credentials === undefined && !requestInit.headers && of?.given === undefined;
  }

  /** The core's alone. A `fetch` that somebody put in gets `Headers`, as from the official transports. */
  #ownHeaders(own: Readonly<Record<string, string>>): HeadersInit {
    return (this.#settings.fetch ?? globalThis.fetch) === ownFetch ? own : new Headers(own);
  }

  async #userHeaders(
    own: Readonly<Record<string, string>>,
    callHeaders: CallHeaders | undefined,
    url: string,
    signal: AbortSignal,
  ): Promise<Headers> {
    try {
      const headers = await this.#headers(own, callHeaders, signal);
      this.#keepSecret(headers, url);
      return headers;
    } catch (thrown) {
      const known = harmless(thrown);
      throw known instanceof Unsendable ? known : new Unsendable(textOf(known), known);
    }
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
    own: Readonly<Record<string, string>>,
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
    for (const [name, value] of Object.entries(own)) merged.set(name, value);
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
    if (response.status >= 400) this.#keep(call, { refusal: withoutBody(response) });
    else this.#failures.delete(call);
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
function withoutBody(response: Response): Response {
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
