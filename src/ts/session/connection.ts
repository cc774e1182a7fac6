// One life of a session over one handle of the core.
import type { CallEvent } from "../api/events.js";
import type { ToolCallFailed } from "../api/failure.js";
import type { Metrics } from "../api/metrics.js";
import { clockText } from "../base/clock-text.js";
import { isObject } from "../base/json.js";
import { textOf } from "../base/thrown.js";
import { type Timer, timers } from "../base/timers.js";
import { Deadline } from "../call/deadline.js";
import { callEvent, jsonRpcError, sessionEvent } from "../call/events.js";
import {
  abortedMeanwhile,
  explained,
  failureOf,
  ownFailure,
  resumes,
  type Why,
  worded,
} from "../call/failure.js";
import { noMetrics } from "../call/metrics.js";
import { CallRecord, type CallSink, type MadeWith, Promised, type ResultEvent } from "../call/record.js";
import { relayedFailure } from "../call/relayed.js";
import { CoreHandle, type Listener, type Told } from "../core/handle.js";
import type { Instance } from "../core/instance.js";
import type {
  AuthorizeOutput,
  Batch,
  Core,
  CoreConfig,
  EventOutput,
  FailureOutput,
  Made,
  MessagesOutput,
  RequestOutput,
  SessionFacts,
  SettleOutput,
  TokenOutput,
} from "../core/protocol.js";
import { CredentialRefresh, type Failure } from "../http/credentials.js";
import type { CallHeaders } from "../http/exchanges.js";
import { decide, type Prepared } from "../options/call-spec.js";
import type { Settings } from "../options/settings.js";
import { infoOf } from "../options/state.js";
import { type Calls, Delivery } from "./delivery.js";
import type { FactsKeeper, Owner } from "./owner.js";
import type { RequestTaker } from "./requests.js";
import { Waits } from "./scheduler.js";

// `connectMs` of a call that no core knows any more: the default.
const unknownConnectMs = 5_000;

// The core ends a DELETE after 2 s; it is not waited for much longer.
const closeMs = 2_250;

const closed: Why = { reason: "closed", outcome: "unknown", message: "the session was closed" };

/**
 * One life of a session: from the handshake to its end, by `close()`, a handshake that failed, or a lost instance.
 * Every call made on it gets its outcome, if not from the core then from here.
 */
export class Connection implements Listener, Calls {
  /** Settles with the handshake: rejects as a call does. */
  readonly ready: Promise<unknown>;
  readonly #owner: Owner;
  readonly #settings: Settings;
  readonly #keeper: FactsKeeper;
  readonly #config: CoreConfig;
  readonly #handle: CoreHandle;
  readonly #records = new Map<number, CallRecord>();
  readonly #requests: RequestTaker;
  readonly #delivery: Delivery;
  readonly #waits: Waits;
  readonly #refresh: CredentialRefresh;
  readonly #end: Promise<void>;
  #ended!: () => void;
  #endedBy: Why = closed;
  #closeTimer: Timer | undefined;
  // The handshake as a call, where it is landfall's own: the core ends it by `ready`, or by a failure.
  readonly #handshake: number | undefined;
  #isReady = false;
  #strays = 0;
  #metrics: Metrics | undefined;

  /**
   * Starts the handshake; where the keeper knows a session, that goes on without one. Throws {@link ConfigError} where the
   * core refuses the configuration.
   */
  constructor(instance: Instance, owner: Owner, keeper: FactsKeeper) {
    const { settings, clock } = owner;
    this.#owner = owner;
    this.#settings = settings;
    this.#keeper = keeper;
    this.#config = { ...settings.core(), ...(keeper.facts && { session: keeper.facts }) };
    this.#keepSecret(keeper.facts ?? {});
    this.#delivery = new Delivery(owner, this);
    this.#end = new Promise((resolve) => {
      this.#ended = resolve;
    });
    this.#requests = owner.requests((body) => this.answer(body));
    this.#waits = new Waits(settings, (call) =>
      this.#handle.run((core, handle, now) => core.reconnect(handle, now, call)),
    );
    this.#refresh = new CredentialRefresh(settings, (ok) =>
      this.#handle.run((core, handle, now) => core.authorized(handle, now, ok)),
    );
    this.#handle = new CoreHandle(instance, { settings, config: this.#config, clock }, this);
    const greeting = new Promised();
    const made = this.#make((core, handle, now) => core.connect(handle, now), "initialize", greeting);
    if (made !== undefined && "call" in made) this.#handshake = made.call;
    this.ready = greeting.result;
  }

  /** It was opened for another request of a Worker than the one that asks. */
  get isElsewhere(): boolean {
    return this.#handle.isElsewhere;
  }

  /** It takes no more calls: closed, lost, or the handshake failed. */
  get isOver(): boolean {
    return this.#handle.isOver || this.#endedBy !== closed;
  }

  /** The caller does not want it any more: the handshake has failed, if it is under way, and all is ended. */
  giveUp(cause: unknown): void {
    if (this.#isReady || this.#handshake === undefined) return;
    const record = this.#records.get(this.#handshake);
    this.#records.delete(this.#handshake);
    if (record !== undefined) {
      const failed = ownFailure(record, this.#owner.clock(), abortedMeanwhile);
      const event = worded(failed, this.#settings.endpoint);
      record.fail(event, { thrown: cause });
      this.#owner.emit(event);
    }
    void this.close();
  }

  /** Makes a call. Throws {@link ConfigError} where the core refuses its clocks, or `replay` or `callKey` fail. */
  call(prepared: Prepared, sink: CallSink): CallRecord {
    const nextId = () =>
      prepared.id ?? this.#handle.ask((core, handle) => core.next_request_id(handle)) ?? "";
    const spec = decide(prepared, this.#settings, nextId);
    const made = this.#handle.make((core, handle, now) => core.call(handle, now, spec));
    const { method, tool, idempotent, replay, resumptionToken, task } = spec;
    const { id, about, signals, headers, onToken, read } = prepared;
    const of = { method, tool, idempotent, replay, resumptionToken, task };
    return this.#register(made, { ...of, id, about, signals, headers, onToken, read }, sink);
  }

  /** Sends a notification, which is accepted when the server took it. */
  notify(method: string, params: string, sink: CallSink): void {
    this.#make((core, handle, now) => core.notify(handle, now, method, params), method, sink);
  }

  /** Answers a request of the server's; the sink of a Client's answer is told whether the server took it. */
  answer(body: string, sink?: CallSink): void {
    if (sink) this.#make((core, handle, now) => core.answer(handle, now, body), "response", sink);
    else this.#handle.run((core, handle, now) => core.answer(handle, now, body));
  }

  /** Ends the server's session, and nothing else. */
  terminate(sink: CallSink): void {
    this.#make((core, handle, now) => core.terminate(handle, now), "DELETE", sink);
  }

  /** The protocol version of later legacy messages. */
  setVersion(version: string): void {
    this.#handle.run((core, handle, now) => core.set_version(handle, now, version));
  }

  /** What the core has counted, since the beginning or the last reset. After the end, what it had counted then. */
  metrics(reset: boolean): Metrics {
    const told = this.#handle.ask((core, handle, now) => core.metrics(handle, now, reset));
    const metrics = told ?? this.#metrics ?? noMetrics();
    if (reset) this.#metrics = undefined;
    return metrics;
  }

  /** Ends it. Resolves when nothing of it is left. */
  close(): Promise<void> {
    this.#handle.run((core, handle, now) => core.close(handle, now));
    if (this.#handle.isOver) this.#finish();
    else this.#closeTimer ??= timers.setTimeout(() => this.#finish(), closeMs);
    return this.#end;
  }

  headersOf(call: number): CallHeaders | undefined {
    const record = this.#records.get(call);
    return record === undefined ? { keepsAlive: this.#config.carry === true } : record.origin.headers;
  }

  /** A Client's transport keeps a process alive as the official one does. */
  get isIdle(): boolean {
    return this.#records.size === 0 && this.#config.carry !== true;
  }

  persist(facts: SessionFacts): void {
    this.#keeper.facts = facts;
    this.#keepSecret(facts);
  }

  /** A session's id is nothing that a message may show, whether it was begun here or goes on. */
  #keepSecret({ sessionId }: Partial<SessionFacts>): void {
    if (sessionId === undefined || this.#config.full) return;
    this.#settings.serverText.learn("mcp-session-id", sessionId);
  }

  told(output: Told): void {
    if (output.out === "messages") {
      this.#delivery.deliver(output);
      return;
    }
    const call = output.out === "ready" ? this.#handshake : "call" in output ? output.call : undefined;
    const record = call === undefined ? undefined : this.#records.get(call);
    try {
      this.#hear(output);
    } catch (thrown) {
      this.failedAt(output, thrown, call, record);
    }
  }

  /** A throw of ours ends the call that it befell, and nothing else. */
  failedAt(output: Told, thrown: unknown, call: number | undefined, record: CallRecord | undefined): void {
    const message = `landfall failed at an output of its core, ${output.out}: ${textOf(thrown)}`;
    this.#settings.log.write("error", message);
    if (call !== undefined && record !== undefined)
      this.#abandon(call, record, { reason: "internal_error", outcome: "unknown", message });
  }

  #hear(output: Exclude<Told, MessagesOutput>): void {
    if (output.out === "event") this.#event(output);
    else if (output.out === "settle") this.#settle(output);
    else if (output.out === "token") this.#token(output);
    else if (output.out === "request") this.#request(output);
    else if (output.out === "request_cancelled") this.#requests.cancelled(output.id);
    else if (output.out === "request_over") this.#requests.over(output.id);
    else if (output.out === "ready") this.#stands(output.message);
    else if (output.out === "authorize") this.#authorize(output);
    else if (output.out === "schedule") this.#waits.begin(output);
    else if (output.out === "tools") this.#owner.tools.add(output.message);
    else if (output.out === "declare") this.#declare(output.call);
    else if (output.out === "lost") this.#lost(output.text);
    else this.#finish();
  }

  /** Makes what the sink waits for; where that is no call of the core's, for nothing. */
  #make(use: (core: Core, handle: number, now: number) => Made | Batch, method: string, sink: CallSink) {
    const made = this.#handle.make<Made | Batch>(use);
    if (made !== undefined && !("call" in made)) sink.accepted();
    else this.#register(made, { method }, sink);
    return made;
  }

  #register(made: Made | undefined, from: MadeWith, sink: CallSink): CallRecord {
    // A call that trapped the core has no number: it is kept for the outcome that the loss is about to give it.
    this.#strays += 1;
    const key = made?.call ?? -this.#strays;
    const requestId = from.id ?? made?.requestId ?? `lost-${this.#strays}`;
    const isSafe = this.#settings.replay !== "never" && (from.idempotent === true || from.replay === true);
    const { method, tool, signals, headers, onToken, about, read } = from;
    const { connectMs = unknownConnectMs } = made ?? {};
    const origin = {
      id: requestId,
      method,
      tool,
      isSafe,
      startedAt: this.#owner.clock(),
      resumes: resumes(from),
      task: from.task,
      signals,
      headers,
      onToken,
      connectMs,
      read,
      info: about && { ...about, requestId },
    };
    const record = new CallRecord(
      origin,
      sink,
      (reason) => this.#handle.run((core, handle, now) => core.cancel(handle, now, key, reason)),
      (event, ok) => this.report(key, event, ok),
    );
    this.#records.set(key, record);
    if (made !== undefined) this.#guard(made, record);
    return record;
  }

  /** Arms the second deadline of a call; one that has ended already has none. */
  #guard({ call, deadlineMs, connectMs }: Made, record: CallRecord): void {
    if (deadlineMs === undefined || connectMs === undefined) return;
    const expire = () => this.#expire(call, record, deadlineMs);
    const times = { deadlineMs, connectMs };
    record.guard(new Deadline(this.#owner.clock, times, expire), times);
  }

  /** The second deadline of a call: the core should have ended it, and hangs. */
  #expire(call: number, record: CallRecord, deadlineMs: number): void {
    const message = `no outcome within ${clockText("deadlineMs", deadlineMs)}, not even from landfall's core`;
    this.#abandon(call, record, { reason: "deadline_exceeded", outcome: "unknown", message });
  }

  /** Ends a call from here; the core is to forget it. */
  #abandon(call: number, record: CallRecord, why: Why): void {
    this.#records.delete(call);
    this.#fail(record, why, this.#handle.takeFailure(call));
    this.#handle.abortCall(call);
    this.#handle.run((core, handle, now) => core.cancel(handle, now, call));
    if (call !== this.#handshake) return;
    this.#finish({ ...why, outcome: "not_sent", message: `the handshake: ${why.message}` });
  }

  #request({ call, message }: RequestOutput): void {
    const asked = call === undefined ? undefined : this.#records.get(call)?.origin;
    if (!isObject(message)) this.unparsed();
    // Only calls of the caller's: what is asked on a stream of landfall's own belongs to none.
    else this.#requests.take(message, asked?.info && asked.id);
  }

  #event(output: EventOutput): void {
    if (output.call === undefined) {
      this.#owner.emit(sessionEvent(output));
      return;
    }
    const record = this.#records.get(output.call);
    if (record !== undefined) this.#tell(record, callEvent(output, record.origin));
  }

  /** Tells the core whether an event was handled, where it still wants to know. */
  report(call: number, key: number, ok: boolean): void {
    if (key !== 0 && this.#records.has(call)) this.#handle.report(call, key, ok);
  }

  /** The call of that number, as long as it has no outcome. */
  recordOf(call: number): CallRecord | undefined {
    return this.#records.get(call);
  }

  #tell(record: CallRecord, event: CallEvent): void {
    record.event(event);
    this.#owner.emit(event);
  }

  /** The application found a gap: what that means, the core says. */
  foundGap(call: number): void {
    this.#handle.interject((core, handle, now) => core.gap(handle, now, call));
  }

  #token({ call, token }: TokenOutput): void {
    try {
      this.#records.get(call)?.origin.onToken?.(token);
    } catch (thrown) {
      this.#settings.log.threw("onresumptiontoken", thrown);
    }
  }

  #authorize({ call, why }: AuthorizeOutput): void {
    const { refusal } = this.#handle.failureOf(call);
    const denied = (thrown: unknown) => !this.#records.has(call) && this.#owner.denied(thrown);
    this.#refresh.begin(refusal ?? new Response(null, { status: 401 }), why, denied);
  }

  /** The core wants to know what goes into the headers of a call, once it asked for the tools. */
  #declare(call: number): void {
    const { tool: name, arguments: args } = this.#records.get(call)?.origin.info ?? {};
    const params = this.#owner.tools.of({ name, arguments: args });
    this.#handle.interject((core, handle, now) => core.declared(handle, now, call, params));
  }

  /** The engine could not parse what the core had found well-formed. */
  unparsed(): void {
    this.#settings.log.write("error", "a message is nested too deep to be parsed, and is left out");
  }

  #stands(message: unknown): void {
    this.#isReady = true;
    if (!isObject(message)) this.unparsed();
    this.#owner.ready(infoOf(this.#keeper.facts, message));
    if (this.#handshake === undefined) return;
    this.#records.get(this.#handshake)?.accept();
    this.#records.delete(this.#handshake);
  }

  #settle(output: SettleOutput): void {
    const record = this.#records.get(output.call);
    if (record === undefined) return;
    this.#records.delete(output.call);
    this.#waits.end(output.call);
    const failure = this.#handle.takeFailure(output.call);
    if (output.type === "accepted") record.accept();
    else if (output.type === "tool_call_failed")
      this.#failed(record, failureOf(output, record.origin.id), this.#backgroundOf(output, failure));
    else this.#answered(record, output, output.message);
    if (output.call === this.#handshake) this.#handshakeFailed(output);
  }

  /** What is known of a failure: a call that waited for new credentials failed by what the provider threw. */
  #backgroundOf({ reason, httpStatus, body }: FailureOutput, failure: Failure): Failure {
    const isRefused = reason === "unauthorized" || reason === "forbidden";
    return {
      ...failure,
      ...(isRefused ? this.#refresh.failure : {}),
      ...(httpStatus === undefined ? {} : { status: httpStatus }),
      ...(body === undefined ? {} : { body }),
    };
  }

  /** A handshake that failed ends it all, with a session that it began, once what came with it has been told. */
  #handshakeFailed(output: SettleOutput): void {
    const failed = output.type === "tool_call_failed";
    const reason = failed ? output.reason : "protocol_error";
    const message = `the handshake failed: ${failed ? output.text : "the server answered it with an error"}`;
    this.#endedBy = { reason, outcome: "not_sent", message };
    timers.queueMicrotask(() => this.close());
  }

  #answered(record: CallRecord, output: SettleOutput & { type: "result" }, message: unknown): void {
    if (!isObject(message)) {
      const text = "the answer is nested too deep to be parsed";
      this.#fail(record, { reason: "malformed_response", outcome: "unknown", message: text });
      return;
    }
    const { id: requestId, read = (result: unknown) => result } = record.origin;
    const whose = { type: "result", at: output.at, requestId } as const;
    const error = "error" in message ? jsonRpcError(message.error) : undefined;
    const { relay, serverText } = this.#settings;
    const relayed = error && relay ? relayedFailure(error, record, output.at, serverText) : undefined;
    if (relayed !== undefined) {
      this.#failed(record, relayed);
      return;
    }
    const event: ResultEvent =
      error === undefined ? { ...whose, result: read(message.result) } : { ...whose, error };
    record.answer(event, message, output.httpStatus);
    this.#owner.emit(event);
  }

  #lost(text: string): void {
    const message = `landfall's core failed and was replaced: ${text}`;
    const why: Why = { reason: "internal_error", outcome: "unknown", message };
    this.#settings.log.write("error", message);
    // It may be what is known that the core stumbled over.
    if (!this.#config.carry && !this.#isReady) this.#keeper.facts = undefined;
    for (const { origin } of this.#records.values()) if (origin.info) this.#owner.uncounted.count(why);
    this.#finish(why);
  }

  /** The end: what is still pending gets its outcome, and nothing runs any more. */
  #finish(why = this.#endedBy): void {
    timers.clearTimeout(this.#closeTimer);
    this.#metrics =
      this.#handle.ask((core, handle, now) => core.metrics(handle, now, false)) ?? this.#metrics;
    this.#handle.destroy();
    this.#requests.abortAll();
    this.#waits.endAll();
    this.#refresh.stop();
    const pending = [...this.#records.values()];
    this.#records.clear();
    for (const record of pending) this.#fail(record, why);
    this.#ended();
  }

  #fail(record: CallRecord, why: Why, failure?: Failure): void {
    this.#failed(record, ownFailure(record, this.#owner.clock(), why), failure);
  }

  /** A call failed. What became of it the application may know, where nobody else does. */
  #failed(record: CallRecord, failed: ToolCallFailed, failure: Failure = {}): void {
    const { info, connectMs } = record.origin;
    const isWanted = failed.reason === "cancelled" || failed.reason === "closed";
    const { serverText, endpoint } = this.#settings;
    const event = worded(isWanted ? failed : explained(failed, failure, serverText), endpoint);
    const tell = () => {
      record.fail(event, isWanted ? {} : failure);
      this.#owner.emit(event);
    };
    const isUnknown = event.outcome === "unknown" && !isWanted;
    if (!isUnknown || record.isCancelled || info === undefined || connectMs === undefined) {
      tell();
      return;
    }
    const stop = this.#owner.outcomes.ask(info, 3 * connectMs, (result) => {
      if (result === undefined) {
        tell();
        return;
      }
      const { id: requestId } = record.origin;
      const known: ResultEvent = { type: "result", at: this.#owner.clock(), requestId, result };
      record.answer(known);
      this.#owner.emit(known);
    });
    if (stop === undefined) tell();
    else record.ask(stop);
  }
}
