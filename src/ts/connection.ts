import { CallRecord } from "./call.js";
import type { Settings } from "./config.js";
import type { EventOutput, ReadyOutput, SettleOutput } from "./driver.js";
import { emit } from "./emit.js";
import { ConfigError } from "./errors.js";
import { callEvent, failureOf, jsonRpcError, ownFailure, sessionEvent, type Why } from "./events.js";
import type { Instance } from "./instance.js";
import { Link, type Listener, type Told } from "./link.js";
import { ServerRequests } from "./requests.js";
import type { Prepared } from "./spec.js";
import type { Era, ToolCall } from "./types.js";

/** What the handshake told of the server. */
export interface SessionInfo {
  era: Era;
  protocolVersion: string;
  sessionId?: string;
  serverInfo?: { name: string; version: string };
  capabilities: Record<string, unknown>;
}

// The number of the handshake as a call. The core ends it by `ready`, or by a failure.
const handshake = 0;

const closed: Why = { reason: "closed", outcome: "unknown", message: "the session was closed" };

/**
 * One life of a session: from the handshake to its end, by `close()`, a handshake that failed, or a lost instance.
 * Every call made on it gets its outcome, if not from the core then from here.
 */
export class Connection implements Listener {
  /** Settles with the handshake: rejects as a call does. */
  readonly ready: Promise<unknown>;
  readonly #settings: Settings;
  readonly #clock: () => number;
  readonly #onReady: (info: SessionInfo) => void;
  readonly #link: Link;
  readonly #records = new Map<number, CallRecord>();
  readonly #requests: ServerRequests;
  readonly #end: Promise<void>;
  #ended!: () => void;
  #strays = 0;

  /** Starts the handshake. Throws {@link ConfigError} where the core refuses the configuration. */
  constructor(
    instance: Instance,
    settings: Settings,
    clock: () => number,
    onReady: (info: SessionInfo) => void,
  ) {
    this.#settings = settings;
    this.#clock = clock;
    this.#onReady = onReady;
    this.#end = new Promise((resolve) => {
      this.#ended = resolve;
    });
    this.#requests = new ServerRequests(settings, (body) =>
      this.#link.run((core, handle, now) => core.answer(handle, now, body)),
    );
    this.#link = new Link(instance, settings, clock, this);
    this.ready = this.#register(handshake, { method: "initialize" }).handle.result;
    this.#link.run((core, handle, now) => core.connect(handle, now));
  }

  /** It takes no more calls: closed, lost, or the handshake failed. */
  get isOver(): boolean {
    return this.#link.isOver;
  }

  /** Makes a call. Throws {@link ConfigError} where the core refuses its clocks. */
  call({ spec, signal, headers }: Prepared): ToolCall {
    const made = this.#link.ask((core, handle, now) => core.call(handle, now, spec));
    if (typeof made === "object") throw new ConfigError(made.option, made.message);
    const record = this.#register(made, { ...spec, signal, headers });
    this.#link.run((core, handle, now) => core.drain(handle, now));
    return record.handle;
  }

  /** Sends a notification; resolves when the server took it. */
  notify(method: string, params: string): Promise<void> {
    const made = this.#link.ask((core, handle, now) => core.notify(handle, now, method, params));
    const record = this.#register(made, { method });
    this.#link.run((core, handle, now) => core.drain(handle, now));
    return record.handle.result;
  }

  /** Ends it. Resolves when nothing of it is left. */
  close(): Promise<void> {
    this.#link.run((core, handle, now) => core.close(handle, now));
    if (this.#link.isOver) this.#finish(closed);
    return this.#end;
  }

  headersOf(call: number): HeadersInit | undefined {
    return this.#records.get(call)?.origin.headers;
  }

  told({ output, message }: Told): void {
    if (output.out === "event") this.#event(output, message);
    else if (output.out === "settle") this.#settle(output, message);
    else if (output.out === "request") this.#request(message);
    else if (output.out === "ready") this.#isReady(output, message);
    else if (output.out === "lost") this.#lost(output.text);
    else this.#finish(closed);
  }

  #register(
    call: number | undefined,
    from: {
      method: string;
      tool?: string;
      idempotent?: boolean;
      signal?: AbortSignal | undefined;
      headers?: HeadersInit | undefined;
    },
  ): CallRecord {
    const id =
      call === undefined ? undefined : this.#link.ask((core, handle) => core.request_id(handle, call));
    // A call that trapped the core has no number: it is kept for the outcome that the loss is about to give it.
    this.#strays += 1;
    const key = call ?? -this.#strays;
    const origin = {
      id: id ?? `lost-${this.#strays}`,
      method: from.method,
      tool: from.tool,
      idempotent: from.idempotent === true,
      startedAt: this.#clock(),
      signal: from.signal,
      headers: from.headers,
    };
    const record = new CallRecord(origin, () =>
      this.#link.run((core, handle, now) => core.cancel(handle, now, key)),
    );
    this.#records.set(key, record);
    return record;
  }

  #request(message: unknown): void {
    if (isObject(message)) this.#requests.take(message);
    else this.#unparsed();
  }

  #event(output: EventOutput, message: unknown): void {
    if (output.type === "message" || output.type === "progress") {
      if (!isObject(message)) {
        this.#unparsed();
        return;
      }
      this.#requests.hear(message);
    }
    if (output.call === undefined) {
      emit(this.#settings, sessionEvent(output, message));
      return;
    }
    const record = this.#records.get(output.call);
    if (record === undefined) return;
    const event = callEvent(output, record.origin.id, message);
    record.event(event);
    emit(this.#settings, event);
  }

  /** The engine could not parse what the core had found well-formed. */
  #unparsed(): void {
    this.#settings.log.write("error", "a message is nested too deep to be parsed, and is left out");
  }

  #isReady(output: ReadyOutput, message: unknown): void {
    this.#onReady(infoOf(output, message));
    this.#records.get(handshake)?.accept();
    this.#records.delete(handshake);
  }

  #settle(output: SettleOutput, message: unknown): void {
    const record = this.#records.get(output.call);
    if (record === undefined) return;
    this.#records.delete(output.call);
    const { id: requestId } = record.origin;
    if (output.type === "accepted") {
      record.accept();
    } else if (output.type === "tool_call_failed") {
      const event = failureOf(output, requestId);
      record.fail(event);
      emit(this.#settings, event);
    } else {
      this.#answered(record, output, message);
    }
    if (output.call === handshake) this.#handshakeFailed(output);
  }

  /** A handshake that failed ends it all, once what came with it has been told. */
  #handshakeFailed(output: SettleOutput): void {
    const failed = output.type === "tool_call_failed";
    const reason = failed ? output.reason : "protocol_error";
    const message = `the handshake failed: ${failed ? output.text : "the server answered it with an error"}`;
    queueMicrotask(() => this.#finish({ reason, outcome: "not_sent", message }));
  }

  #answered(record: CallRecord, output: SettleOutput & { type: "result" }, message: unknown): void {
    if (!isObject(message)) {
      const text = "the answer is nested too deep to be parsed";
      this.#fail(record, { reason: "malformed_response", outcome: "unknown", message: text });
      return;
    }
    const about = { type: "result", at: output.at, requestId: record.origin.id } as const;
    if ("error" in message) {
      const error = jsonRpcError(message.error);
      record.refuse({ ...about, error }, error, output.httpStatus);
      emit(this.#settings, { ...about, error });
    } else {
      const { result } = message;
      record.succeed({ ...about, result }, result);
      emit(this.#settings, { ...about, result });
    }
  }

  #lost(text: string): void {
    const message = `landfall's core failed and was replaced: ${text}`;
    this.#settings.log.write("error", message);
    this.#finish({ reason: "internal_error", outcome: "unknown", message });
  }

  /** The end: what is still pending gets its outcome, and nothing runs any more. */
  #finish(why: Why): void {
    this.#link.destroy();
    this.#requests.abortAll();
    const pending = [...this.#records.values()];
    this.#records.clear();
    for (const record of pending) this.#fail(record, why);
    this.#ended();
  }

  #fail(record: CallRecord, why: Why): void {
    const event = ownFailure(record, this.#clock(), why);
    record.fail(event);
    emit(this.#settings, event);
  }
}

function infoOf(output: ReadyOutput, message: unknown): SessionInfo {
  const { result } = (message ?? {}) as { result?: { serverInfo?: unknown; capabilities?: unknown } };
  const { serverInfo, capabilities } = result ?? {};
  return {
    era: output.era,
    protocolVersion: output.protocolVersion,
    ...(output.sessionId === undefined ? {} : { sessionId: output.sessionId }),
    ...(isObject(serverInfo) ? { serverInfo: serverInfo as { name: string; version: string } } : {}),
    capabilities: isObject(capabilities) ? capabilities : {},
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
