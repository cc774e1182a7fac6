// The drop-in: a `Transport` of the SDKs.

import { ConfigError } from "../api/errors.js";
import type { CallEvent, SessionEvent } from "../api/events.js";
import type { ToolCallFailed } from "../api/failure.js";
import type { Metrics } from "../api/metrics.js";
import type { SendOptions, State, TransportOptions } from "../api/options.js";
import { isObject } from "../base/json.js";
import { ignored, isThenable, macrotask } from "../base/promise.js";
import { createClock } from "../base/runtime.js";
import { EventBatch } from "../call/event-batch.js";
import { emit, jsonRpcError } from "../call/events.js";
import { aborted, closedBefore, type UnsentCall, unsentEvent, type Why } from "../call/failure.js";
import { Uncounted } from "../call/metrics.js";
import { OutcomeResolver } from "../call/outcome-resolver.js";
import type { CallRecord } from "../call/record.js";
import type { Failure } from "../http/credentials.js";
import { isPlain } from "../options/check.js";
import type { Settings } from "../options/settings.js";
import { type SessionInfo, stateOf } from "../options/state.js";
import { readTransportSettings } from "../options/transport-options.js";
import { Connection } from "../session/connection.js";
import { Connections } from "../session/connections.js";
import type { Owner } from "../session/owner.js";
import { leftOutText, ToolHeaders } from "../session/tool-headers.js";
import type { Binding, Sdk } from "./binding.js";
import { refusalOf, rejection } from "./errors.js";
import {
  answerText,
  type ClientMessage,
  cancelled,
  isHandshake,
  paramsText,
  preparedRequest,
  resumption,
  signalsOf,
  textOfAnswer,
  withoutMeta,
} from "./messages.js";
import {
  type Client,
  PendingMessage,
  PendingRequest,
  PendingStream,
  PendingSubscription,
} from "./pending.js";
import { WireNames } from "./wire-names.js";

/** A request of the Client's. */
type ClientRequest = ClientMessage & { id: string | number; method: string };

/** What says of a message that no core has heard of it. */
type Named = Pick<UnsentCall, "id" | "method" | "spec">;

/** A `Transport` of the SDKs, whichever entry it comes from. */
export class ClientTransport {
  /** Called once, when the transport was closed. */
  onclose?: () => void;
  /** Told what went wrong: what `send()` rejects with, too, as in the official transports. */
  onerror?: (error: Error) => void;
  /** Given every message of the server's. One of a stream is handled when it returns, and failed when it throws. */
  // biome-ignore lint/suspicious/noExplicitAny: each SDK has a message type of its own
  onmessage?: (message: any, extra?: any) => void;
  /** Told every event of every call and of the session, in order. What it throws is logged. */
  onevent?: (event: CallEvent | SessionEvent) => void;
  /** Told the same in arrays: all that came in one turn, at least one event. */
  onevents?: (events: (CallEvent | SessionEvent)[]) => void;
  /** The version of the session, as the Client set it or the handshake gave it. */
  protocolVersion?: string;
  /** A modern request is cancelled by its signal, and nothing is posted for it. */
  readonly hasPerRequestStream = true;
  /** The Client may ask by `server/discover`. */
  readonly supportsProtocolVersionDiscovery = true;
  /** Its answer always comes, or its failure. */
  readonly waitsForProtocolVersionDiscovery = true;
  /** `Mcp-Param-*` headers that the Client gives go out. */
  readonly supportsMcpToolParameterHeaders = true;
  readonly #settings: Settings;
  readonly #sdk: Sdk;
  readonly #owner: Owner;
  readonly #connections: Connections;
  readonly #tools = new ToolHeaders();
  readonly #client: Client;
  readonly #batch: EventBatch;
  readonly #names = new WireNames();
  readonly #calls = new Map<string | number, CallRecord>();
  #loading: Promise<void> | undefined;
  #isLoaded = false;
  #isStarted = false;
  #closing: Promise<void> | undefined;
  // The Client was told of the end, and has forgotten this transport.
  #isLeft = false;
  #isOver = false;

  /** @internal Bound by an entry. */
  constructor({ instances, sdk }: Binding, url: string | URL, given: TransportOptions | undefined) {
    const options = given ?? {};
    const settings = readTransportSettings(url, options, sdk);
    this.#settings = settings;
    this.#sdk = sdk;
    const { sessionId, protocolVersion, onevent, onevents } = options;
    if (typeof onevent === "function") this.onevent = onevent;
    if (typeof onevents === "function") this.onevents = onevents;
    if (protocolVersion) this.protocolVersion = protocolVersion;
    this.#client = {
      deliver: (message) => this.#deliver(message),
      hasToken: (token) => this.#names.hasToken(token),
      rejection: (event, failure) => this.#told(this.#rejection(event, failure)),
    };
    const hears = () => (this.onevent ?? this.onevents) !== undefined || settings.log.isVerbose;
    this.#batch = new EventBatch(settings, "onevents", () => this.onevents);
    this.#owner = {
      settings,
      clock: createClock(),
      outcomes: new OutcomeResolver(settings),
      uncounted: new Uncounted(),
      tools: this.#tools,
      // The Client keeps its own account of them: it hears of a cancel by the server's message, or by one like it.
      requests: () => ({
        take: (request) => void this.#deliver(request),
        cancelled: () => {},
        over: (requestId) => void this.#deliver(cancelled(requestId)),
        abortAll: () => {},
      }),
      heard: (message) => void this.#deliver(message),
      get hearsMessages() {
        return hears();
      },
      emit: (event) => this.#emit(event),
      ready: (info) => this.#stands(info),
      denied: (thrown) => this.#report(thrown),
    };
    const known = { ...(sessionId && { sessionId }), ...(protocolVersion && { protocolVersion }) };
    this.#connections = new Connections(
      instances,
      this.#owner,
      Object.keys(known).length === 0 ? undefined : known,
    );
  }

  /** The server's session, once there is one. */
  get sessionId(): string | undefined {
    return this.#connections.facts?.sessionId;
  }

  /** Loads the module; nothing is sent. A Client calls it. */
  async start(): Promise<void> {
    if (this.#isStarted) {
      throw new Error(
        "LandfallTransport already started! If using Client class, note that connect() calls start() automatically.",
      );
    }
    this.#isStarted = true;
    try {
      await this.#load();
      this.#connection();
    } catch (thrown) {
      // A failed download says nothing about the next one.
      this.#isStarted = false;
      throw thrown;
    }
  }

  /**
   * Sends a message. For a request it stays pending until `onmessage` was given the response, and rejects where there
   * will be none: with {@link ToolCallFailedError}, and in the handshake with what the SDKs expect. Several messages are
   * sent one by one.
   */
  send(message: object | object[], options: SendOptions = {}): Promise<void> {
    if (Array.isArray(message))
      return Promise.all(message.map((each) => this.send(each, options))).then(() => {});
    // Nothing is waited for without need: what is sent in a row goes out in that order, and a rejection is the
    // Client's before it hears of anything that comes later.
    if (this.#isLoaded) return this.#send(message as ClientMessage, options ?? {});
    return this.#load().then(() => this.#send(message as ClientMessage, options ?? {}));
  }

  /**
   * Ends it: pending calls end as `closed`, and `onclose` is called, once and before this returns; only where requests
   * other than the handshake are pending, it is called a macrotask later, after they were rejected. With
   * `terminateSessionOnClose` the server's session is ended then. Resolves when nothing is left: afterwards there is no
   * request, timer or callback. May be called again; never rejects.
   */
  close(): Promise<void> {
    if (this.#closing === undefined) {
      // It is there before `onclose`, which may call this again; and not before, for workerd lets no other request wait
      // for a promise of this one.
      let closed!: () => void;
      this.#closing = new Promise((resolve) => {
        closed = resolve;
      });
      void this.#close().then(closed);
    }
    return this.#closing;
  }

  /** The version of later legacy messages; a Client calls it after its handshake. Throws for what no header can carry. */
  setProtocolVersion(version: string): void {
    // It goes into a header.
    if (typeof version !== "string" || !/^[\x21-\x7e]+$/.test(version))
      throw new ConfigError("protocolVersion", "protocolVersion must be a string that a header can carry");
    this.protocolVersion = version;
  }

  /** Taken for the Client's sake: a message says itself what version it is of. */
  setSupportedProtocolVersions(_versions: string[]): void {}

  /** Ends the server's session, where there is one, and leaves the transport open. */
  async terminateSession(): Promise<void> {
    if (this.sessionId === undefined) return;
    await this.#load();
    const rejection = (event: ToolCallFailed, failure: Failure) => this.#told(this.#stays(event, failure));
    const sent = new PendingMessage({ ...this.#client, rejection });
    this.#connection().terminate(sent);
    await sent.done;
  }

  /** Resumes a stream after the event of that id; resolves when it is open. What comes on it goes to `onmessage`. */
  async resumeStream(
    lastEventId: string,
    options: { onresumptiontoken?: (token: string) => void } = {},
  ): Promise<void> {
    await this.#load();
    const stream = new PendingStream(this.#client);
    this.#connection().call(resumption(lastEventId, options.onresumptiontoken), stream);
    await stream.done;
  }

  /**
   * Gives the OAuth provider what the user agent brought back: the parameters of the callback's URL, or the code and
   * `iss` among them. Needs an OAuth provider: `landfall/v1`, `landfall/v2`.
   */
  async finishAuth(codeOrParams: string | URLSearchParams, iss?: string): Promise<void> {
    const { credentials, providerFetch } = this.#settings;
    if (credentials?.finish === undefined) {
      const needed = "finishAuth needs an OAuth provider, by the entry landfall/v1 or landfall/v2";
      throw this.#sdk.errors.unauthorized(needed);
    }
    await credentials.finish(codeOrParams, iss, providerFetch);
  }

  /**
   * What was counted since the beginning, or since the last `reset`. What an instance of the module had counted goes with
   * it when it fails; its calls then count as failed.
   */
  metrics(options?: { reset?: boolean }): Metrics {
    return this.#connections.metrics(options);
  }

  /** What is known of the session, to go on with it elsewhere. */
  exportState(): State {
    const { facts } = this.#connections;
    // The core hears of the Client's word with the next message.
    const protocolVersion = facts?.protocolVersion ?? this.protocolVersion;
    return stateOf(this.#settings.core().url, { ...facts, ...(protocolVersion && { protocolVersion }) });
  }

  #send(message: ClientMessage, options: SendOptions): Promise<void> {
    const { id, method, params } = message;
    try {
      if (method === undefined) {
        const sent = new PendingMessage(this.#client);
        this.#connection().answer(answerText(message), sent);
        return sent.done;
      } else if (method === "notifications/cancelled") {
        this.#cancel(params);
      } else if (id === undefined || id === null) {
        return this.#notify(method, params, options);
      } else {
        return this.#request({ ...message, id, method }, options);
      }
      return Promise.resolve();
    } catch (thrown) {
      return Promise.reject(thrown instanceof ConfigError ? this.#told(thrown) : thrown);
    }
  }

  #request(
    message: ClientMessage & { id: string | number; method: string },
    options: SendOptions,
  ): Promise<void> {
    const { id, method } = message;
    const kept = { settings: this.#settings, tools: this.#tools, names: this.#names };
    const prepared = preparedRequest(message, options, kept);
    const { spec, wireId } = prepared;
    this.#refuse(prepared.signals, { id, method, spec });
    const connection = this.#connection({ id, method, spec });
    let record: CallRecord | undefined;
    const Pending = method === "subscriptions/listen" ? PendingSubscription : PendingRequest;
    const sent = new Pending(this.#client, {
      id,
      wireId,
      ownProgress: spec.progress,
      response: (response, httpStatus) => this.#response(message, prepared.isModern, response, httpStatus),
      onStreamEnd: options.onRequestStreamEnd && (() => this.#guarded(options.onRequestStreamEnd)),
      onEnd: () => {
        this.#forget(id, record);
      },
    });
    record = connection.call(prepared, sent);
    if (!record.isSettled) this.#calls.set(id, record);
    return sent.done;
  }

  #notify(method: string, params: Record<string, unknown> | undefined, options: SendOptions): Promise<void> {
    const text = paramsText(params);
    const named = { id: method, method, spec: {} };
    this.#refuse(signalsOf(options), named);
    const sent = new PendingMessage(this.#client);
    this.#connection(named).notify(method, text, sent);
    return sent.done;
  }

  /** The Client gave up a request. One that has ended is nobody's business any more. */
  #cancel(params: Record<string, unknown> | undefined): void {
    const { requestId, reason } = params ?? {};
    const record = this.#calls.get(requestId as string | number);
    record?.cancel(typeof reason === "string" ? reason : undefined);
  }

  /** A response as the Client is to have it. Throws what `send()` is to reject with instead. */
  #response(
    message: ClientRequest,
    isModern: boolean,
    response: object,
    httpStatus: number | undefined,
  ): object {
    const { id, method, params } = message;
    // The SDKs judge the handshake by its status.
    if (isHandshake(method) && httpStatus !== undefined && httpStatus >= 400 && "error" in response) {
      const { message: said } = jsonRpcError(response.error);
      const { serverText } = this.#settings;
      const refusal = { status: httpStatus, statusText: "", text: serverText.redact(textOfAnswer(response)) };
      throw this.#told(
        this.#sdk.errors.http("message", `Error POSTing to endpoint: ${serverText.fit(said)}`, refusal, {}),
      );
    }
    // A Client drops what its schemas refuse, and its caller would wait for nothing.
    const whose = { jsonrpc: "2.0", id };
    if ("error" in response) return { ...whose, error: jsonRpcError(response.error) };
    const given = (response as { result?: unknown }).result;
    if (!isObject(given)) throw this.#malformed(message);
    // Some serializers write what is not there as null.
    const { _meta: meta } = given as { _meta?: unknown };
    const usable = meta === undefined || isPlain(meta) ? given : withoutMeta(given);
    if (!isModern || method !== "tools/list") return { ...whose, result: usable };
    const { result, leftOut } = this.#tools.learn(usable, params?.cursor === undefined);
    for (const each of leftOut) {
      const said = leftOutText(each, this.#settings.serverText);
      this.#emit({
        ...{ type: "warning", code: "invalid_x_mcp_header", message: said },
        ...{ at: this.#owner.clock(), requestId: id },
      });
    }
    return { ...whose, result };
  }

  #malformed({ id, method, params }: ClientRequest): unknown {
    const spec = method === "tools/call" && typeof params?.name === "string" ? { tool: params.name } : {};
    const text = "the result in the server's answer is no object";
    const why: Why = { reason: "malformed_response", outcome: "unknown", message: text };
    const event = this.#unsentEvent({ id, method, spec }, why);
    return this.#told(this.#rejection(event, {}));
  }

  #forget(id: string | number, record: CallRecord | undefined): void {
    // The Client may have used an id again.
    if (record !== undefined && this.#calls.get(id) !== record) return;
    this.#calls.delete(id);
  }

  /** The connection to use. Throws what `send()` rejects with where there is none. */
  #connection(call?: Named): Connection {
    const usable = this.#closing === undefined ? this.#connections.usable() : { why: closedBefore };
    if (!(usable instanceof Connection)) throw this.#unsent(call, usable.why, usable.thrown);
    const version = this.protocolVersion;
    if (version !== undefined && version !== this.#connections.facts?.protocolVersion)
      usable.setVersion(version);
    return usable;
  }

  /** Loads the module, once. */
  #load(): Promise<void> {
    this.#loading ??= this.#connections.load().then((missing) => {
      if (missing === undefined) {
        this.#isLoaded = true;
        return;
      }
      this.#loading = undefined;
      throw this.#unsent(undefined, missing.why, missing.thrown);
    });
    return this.#loading;
  }

  /** Throws where the caller had given it up before it was sent. */
  #refuse(signals: AbortSignal[], call: Named): void {
    const signal = signals.find((each) => each.aborted);
    if (signal !== undefined) throw this.#unsent(call, aborted, signal.reason);
  }

  #unsent(call: Named | undefined, why: Why, thrown?: unknown): unknown {
    const event = this.#unsentEvent(call ?? { id: "unsent", method: "initialize", spec: {} }, why);
    if (call !== undefined) this.#owner.uncounted.count(event);
    this.#emit(event);
    return this.#told(this.#rejection(event, thrown === undefined ? {} : { thrown }));
  }

  #unsentEvent(call: Named, why: Why) {
    return unsentEvent({ ...call, at: this.#owner.clock(), endpoint: this.#settings.endpoint }, why);
  }

  #rejection(event: ToolCallFailed, failure: Failure): unknown {
    const { credentials, serverText } = this.#settings;
    const failing = { event, failure, isHandshake: isHandshake(event.method), credentials, serverText };
    return rejection(this.#sdk.errors, failing);
  }

  /** What `terminateSession()` rejects with. */
  #stays(event: ToolCallFailed, failure: Failure): unknown {
    const refusal = refusalOf(event, failure);
    const error = this.#rejection(event, failure);
    if (refusal === undefined || event.reason === "unauthorized") return error;
    const { status, statusText } = refusal;
    const message = `Failed to terminate session: ${this.#settings.serverText.fit(statusText) || status}`;
    return this.#sdk.errors.http("termination", message, refusal, { cause: error });
  }

  /** The core took the version from the handshake, also where the session was replaced. */
  #stands({ protocolVersion }: SessionInfo): void {
    this.protocolVersion = protocolVersion;
  }

  #deliver(message: object): boolean {
    if (this.#isLeft) return true;
    try {
      const given: unknown = this.onmessage?.(this.#names.named(message));
      // Nobody waits for what a handler promises.
      if (isThenable(given)) given.then(undefined, (thrown) => this.#report(thrown));
      return true;
    } catch (thrown) {
      this.#report(thrown);
      return false;
    }
  }

  /** The same error, of which `onerror` was told, unless the caller wished it. */
  #told(error: unknown): unknown {
    const { reason } = (error ?? {}) as { reason?: unknown };
    if (reason !== "cancelled" && reason !== "closed") this.#report(error);
    return error;
  }

  #report(thrown: unknown): void {
    if (this.#isLeft) return;
    const error = thrown instanceof Error ? thrown : new Error(String(thrown), { cause: thrown });
    this.#guarded(() => this.onerror?.(error));
  }

  #emit(event: CallEvent | SessionEvent): void {
    if (this.#isOver) return;
    const { log, handlerMs } = this.#settings;
    emit({ log, handlerMs, onEvent: this.onevent }, event);
    if (this.onevents !== undefined) this.#batch.add(event);
    // What no `send()` waits for.
    if (event.type === "warning" && ofNoMessage.has(event.code)) this.#report(new Error(event.message));
  }

  /** Calls something of the user's or the Client's. */
  #guarded(call: (() => void) | undefined): void {
    try {
      call?.();
    } catch (thrown) {
      this.#settings.log.threw("a callback", thrown);
    }
  }

  async #close(): Promise<void> {
    this.#owner.outcomes.stop();
    const pending = [...this.#calls.values()].filter(({ origin }) => !isHandshake(origin.method));
    const ending = this.#connections.close();
    // A Client that hears of the end while it passes a rejection on forgets that in favour of an error of its own. With
    // nothing to pass on it hears at once: it may be given another transport as soon as this has returned.
    if (pending.length > 0) await macrotask();
    this.#isLeft = true;
    ignored(() => this.onclose?.());
    await ending;
    this.#isOver = true;
  }
}

// The stream for what belongs to no call.
const ofNoMessage = new Set(["listen_given_up"]);
