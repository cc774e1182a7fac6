// The boundary with the driver in Rust. `now` is always epoch milliseconds from a clock that never goes back.
// Exports report failures as values: whatever is thrown out of one means that the instance is lost.

import type { CallDiagnostics, Era, FailureReason, Outcome } from "../api/failure.js";
import type { Metrics } from "../api/metrics.js";
import type { OnGap } from "../api/options.js";
import type { Head } from "../http/head.js";
import type { HttpRequest } from "../http/request.js";

/** What the driver asks of the wrapper, one object per handle. None of it may throw. */
export interface Host {
  /** Asks for one `poll`, later. */
  schedule(): void;
  /** The text of a panic, just before the trap. */
  panicked(text: string): void;
}

/** The configuration of one handle; what is absent has its default, as `tests/options.json` lists them all. */
export interface CoreConfig {
  url: string;
  /** 53 random bits. */
  seed: number;
  era: string;
  protocolVersions?: string[];
  /** JSON text. */
  clientInfo: string;
  /** JSON text. */
  capabilities: string;
  /** The endpoint is of another origin than the page. */
  crossOrigin: boolean;
  handshakeMs?: number;
  connectMs?: number;
  firstByteMs?: number;
  idleMs?: number;
  callMs?: number;
  recoveryMs?: number;
  deadlineMs?: number;
  baseMs?: number;
  maxMs?: number;
  maxReissues?: number;
  /** `replay`, where it is the same for all calls. */
  replay?: "hints" | "caller" | "never";
  onSessionLost?: "replace" | "fail";
  onGap?: OnGap;
  maxPendingEvents?: number;
  maxPendingBytes?: number;
  maxConcurrent?: number;
  /** It bounds those that wait for headers; else bodies count, too. */
  untilHeaders?: boolean;
  maxQueued?: number;
  maxEventBytes?: number;
  maxBodyBytes?: number;
  maxIdBytes?: number;
  maxQuestions?: number;
  maxBufferedBytes?: number;
  /** A call that its server answers by a task is carried to its end, and says that it may be. */
  tasks?: boolean;
  /** The session is an SDK Client's, which does its own handshake: `connect` makes the core ready at once. */
  carry?: boolean;
  /** Open the GET stream once the server took `notifications/initialized`, and keep it open. */
  listen?: boolean;
  /** There is a provider of credentials: a 401 gives an `authorize` output instead of a failure. */
  auth?: boolean;
  /** How often one call may answer a 403 `insufficient_scope` by an `authorize` output. */
  maxStepUps?: number;
  /** Barren attempts to resume in a row; 0 is no resume at all. */
  maxRetries?: number;
  /** By what a wait grows from one attempt to the next. */
  growFactor?: number;
  /** Waits before attempts to resume are announced by `schedule` outputs and end by `reconnect`. */
  scheduler?: boolean;
  redirects?: "follow" | "refuse";
  /** Send the DELETE when closing. */
  terminate: boolean;
  /** `diagnostics: "full"`. */
  full: boolean;
  /** A session to go on with: the core is then ready as soon as it is connected. */
  session?: SessionFacts;
}

/** What is known of a session. Decided by the core alone: whoever goes on with the session gives it back as it was told. */
export interface SessionFacts {
  era?: Era;
  sessionId?: string;
  protocolVersion?: string;
  /** JSON text of the last response to `initialize`: an engine may parse what it can't write again. */
  greeting?: string;
  /** JSON text of the params of the Client's last accepted `initialize`. */
  hello?: string;
  /** Where the endpoint is that a browser hides behind redirects. */
  location?: string;
}

/** One request to make. */
export interface CallSpec {
  method: string;
  /** JSON text of an object; empty where a Client's message has none. */
  params: string;
  /** JSON text of an object: more members of `params._meta`. */
  meta: string;
  tool?: string;
  /** Ask for progress: the request id becomes the progress token. */
  progress: boolean;
  idempotent?: boolean;
  /** What `replay` decided for this call; absent where the core is to decide. */
  replay?: boolean;
  /** Its server knows a repeat of it by its key, in the same session. */
  keyed?: boolean;
  onGap?: OnGap;
  /** The call starts by resuming a stream at this cursor. With method `resume` any response settles it, as it came. */
  resumptionToken?: string;
  /** Take this task of the server's up, instead of sending the request. */
  task?: string;
  /** JSON text of the id that goes out first, of the Client's type; a re-issue goes under another of that type. */
  id?: string;
  /** JSON text of the progress token in place of the Client's, which stands in `_meta`, too. */
  token?: string;
  /** The Client's own `Mcp-Param-*`, by the names behind that, in place of those declared. */
  paramHeaders?: Record<string, string>;
  /** What the tool declares by `x-mcp-header`, as texts by the names behind `Mcp-Param-`. */
  declaredParams?: Record<string, string>;
  /** The Client has a timer of its own: clocks apply only where they are set, and the deadline is an hour. */
  timed?: boolean;
  /** Tell each committed cursor by a `token`. */
  tokens?: boolean;
  /** Messages and progress carry a `key`, by which it is told whether they were handled. */
  handled?: boolean;
  connectMs?: number;
  firstByteMs?: number;
  idleMs?: number;
  callMs?: number;
  recoveryMs?: number;
  deadlineMs?: number;
}

/** A ConfigError as a value. */
export interface Refusal {
  option: string;
  message: string;
}

/**
 * What one export brought; nothing is `undefined`. The `message` of an output is the JSON-RPC message, or `undefined`
 * where the engine could not parse it, nested too deep, though the core found it well-formed.
 */
export interface Batch {
  outputs: CoreOutput[];
}

/** A call, as it was made. Both clocks are absent where it has ended already. */
export interface Made extends Batch {
  call: number;
  requestId: string;
  /** In force for it, in milliseconds. */
  deadlineMs?: number;
  connectMs?: number;
}

/** Notifications, or progress, in a row: of a call, or of the session where `call` is `undefined`. */
export interface MessagesOutput {
  out: "messages";
  call: number | undefined;
  at: number;
  type: "message" | "progress";
  /** All messages that came along: these are `count` of them, from `index` on. */
  among: unknown[];
  index: number;
  count: number;
  /** By which `handled` is to be told of the first; the others count up by one. 0: nobody is to be told. */
  firstKey: number;
  /** It is the first after a resume, and alone. */
  seam: boolean;
}

/** Another event of a call, or of the session where `call` is absent; its other fields are those of the public event. */
export interface EventOutput {
  out: "event";
  call?: number;
  at: number;
  type: string;
  [field: string]: unknown;
}

/** A call ended without an answer. */
export interface FailureOutput {
  out: "settle";
  call: number;
  at: number;
  type: "tool_call_failed";
  method: string;
  tool?: string;
  reason: FailureReason;
  outcome: Outcome;
  retrySafe: boolean;
  text: string;
  taskId?: string;
  diagnostics: CallDiagnostics;
  /** Of the refusal, where there was one. */
  httpStatus?: number;
  /** The text of the refusal, at most 64 KiB. */
  body?: string;
}

/** How a call ended; exactly one per call. `accepted` is a notification's. */
export type SettleOutput =
  | { out: "settle"; call: number; at: number; type: "result"; message: unknown; httpStatus?: number }
  | { out: "settle"; call: number; at: number; type: "accepted" }
  | FailureOutput;

/** What is known of the session changed; it comes before whatever else the same entry brought. */
export interface PersistOutput extends SessionFacts {
  out: "persist";
}

/** The handshake is done, again where the session was replaced; `message` is the response to it. */
export interface ReadyOutput {
  out: "ready";
  message: unknown;
}

/** A page of tools that the core asked for itself: the response, whose declarations are read. */
export interface ToolsOutput {
  out: "tools";
  message: unknown;
}

/** What the tool of a call declares is wanted, to be given by `declared`. */
export interface DeclareOutput {
  out: "declare";
  call: number;
}

/** A request of the server's, to be answered under the id that its message has: no other open one has that. */
export interface RequestOutput {
  out: "request";
  call?: number;
  at: number;
  message: unknown;
}

/** The server does not want the answer any more to the request that was told under this id. */
export interface RequestCancelledOutput {
  out: "request_cancelled";
  id: string | number;
}

/** What the request of this id was asked in is over: nobody waits for the answer. */
export interface RequestOverOutput {
  out: "request_over";
  id: string | number;
}

/** A call's cursor moved. */
export interface TokenOutput {
  out: "token";
  call: number;
  token: string;
}

/** Credentials are needed, by the Response that this call got last; to be answered by `authorized`. */
export interface AuthorizeOutput {
  out: "authorize";
  call: number;
  why: "unauthorized" | "step_up";
}

/** A wait before an attempt to resume begins; to be ended by `reconnect`. */
export interface ScheduleOutput {
  out: "schedule";
  call: number;
  waitMs: number;
  /** From 1. */
  attempt: number;
}

/** A request to make, in a microtask of its own. Its head is to be told by `head`, or its failure by `fail`. */
export interface TransmitOutput extends HttpRequest {
  out: "transmit";
}

/** Everything the core tells or asks. */
export type CoreOutput =
  | MessagesOutput
  | EventOutput
  | AuthorizeOutput
  | ScheduleOutput
  | TokenOutput
  | SettleOutput
  | RequestOutput
  | RequestCancelledOutput
  | PersistOutput
  | RequestOverOutput
  | ReadyOutput
  | ToolsOutput
  | DeclareOutput
  | TransmitOutput
  | { out: "read"; exchange: number; on: boolean }
  | { out: "abort"; exchange: number }
  | { out: "closed" };

/** The exports of one WebAssembly instance. Handles are its transports. */
export interface Core {
  create(host: Host, config: CoreConfig, now: number): number | Refusal;
  /** Begins the handshake, which is a call, unless a Client does its own. */
  connect(handle: number, now: number): Made | Batch;
  call(handle: number, now: number, spec: CallSpec): Made | Refusal;
  /** The request id that the next call gets, unless it brings one along. */
  next_request_id(handle: number): string;
  notify(handle: number, now: number, method: string, params: string): Made;
  answer(handle: number, now: number, body: string): Made | Batch;
  /** `reason` goes into the legacy `notifications/cancelled`; absent is landfall's own text. */
  cancel(handle: number, now: number, call: number, reason?: string): Batch | undefined;
  /** Answers an `authorize` output: whether there are new credentials now. */
  authorized(handle: number, now: number, ok: boolean): Batch | undefined;
  /** Answers a `declare` output: texts, by the names behind `Mcp-Param-`. */
  declared(handle: number, now: number, call: number, params: Record<string, string>): Batch | undefined;
  /** Ends the wait of a `schedule` output; nothing where nothing waits. */
  reconnect(handle: number, now: number, call: number): Batch | undefined;
  /** Ends the server's session by a DELETE: a call, `accepted` where the server has none any more. */
  terminate(handle: number, now: number): Made;
  /** The protocol version of later legacy messages. */
  set_version(handle: number, now: number, version: string): Batch | undefined;
  /** Whether a header of this name, in lower case, is the core's own, whatever a user gives. */
  is_reserved(name: string): boolean;
  /** A value that goes to the server: it is taken out of what the server says. */
  learn_secret(handle: number, secret: string): void;
  /**
   * Tells once of each event of a call whether it was handled, for those from the first key to the last. Where it is true
   * `drain` must follow: what that tells of a call comes before an outcome of it that waits to be told.
   */
  handled(handle: number, now: number, call: number, first: number, last: number, ok: boolean): boolean;
  drain(handle: number, now: number): Batch | undefined;
  /**
   * Tells that the application found a gap. Of a call whose outcome waits to be told, what this gives comes before that,
   * and an outcome of it in its place.
   */
  gap(handle: number, now: number, call: number): Batch | undefined;
  metrics(handle: number, now: number, reset: boolean): Metrics;
  close(handle: number, now: number): Batch | undefined;
  /** A request is handed to `fetch`. */
  sent(handle: number, now: number, exchange: number): Batch | undefined;
  head(handle: number, now: number, exchange: number, head: Head): Batch | undefined;
  push(handle: number, now: number, exchange: number, bytes: Uint8Array): Batch | undefined;
  end(handle: number, now: number, exchange: number): Batch | undefined;
  fail(handle: number, now: number, exchange: number, message: string, code: string): Batch | undefined;
  poll(handle: number, now: number): Batch | undefined;
  destroy(handle: number): void;
  /** Not the core's but the factory's: whether its timers keep a process alive, in a runtime where they can. */
  hold(isHeld: boolean): void;
  /** Not the core's but the factory's: timers and promises that the lost instance left behind do nothing any more. */
  retire(): void;
}

/** Makes one instance of the module with its bindings. */
export type CreateCore = (module: WebAssembly.Module) => Core;

type Same = "handled" | "is_reserved" | "next_request_id" | "learn_secret" | "destroy" | "hold" | "retire";

/** What crosses as other arguments than here; texts are JSON. */
interface Flat {
  create(host: Host, config: string, now: number): string;
  declared(handle: number, now: number, call: number, params: string): number;
  metrics(handle: number, now: number, reset: boolean): string | undefined;
  call(
    handle: number,
    now: number,
    flags: number,
    method: string,
    params: string,
    meta: string,
    tool: string | undefined,
    id: string | undefined,
    token: string | undefined,
    rare: string | undefined,
  ): number;
  head(
    handle: number,
    now: number,
    exchange: number,
    status: number,
    marks: number,
    contentType: string | undefined,
    sessionId: string | undefined,
    retryAfter: string | undefined,
    target: string | undefined,
  ): number;
  /** Takes so many bytes of a body out of the room for them. */
  push(handle: number, now: number, exchange: number, bytes: number): number;
}

/** The exports as they are: one that has something to tell gives its address, or 0. */
export type RawCore = Pick<Core, Same> & {
  [name in Exclude<keyof Core, Same | keyof Flat>]: (...args: Parameters<Core[name]>) => number;
} & Flat & {
    memory: WebAssembly.Memory;
    /** Makes room for so many bytes of bodies: its address. It stands until more is asked for, or too much was pushed. */
    room(bytes: number): number;
    /** The rare outputs of what was told last, in order: JSON text of an array of {@link RareOutput}. */
    rare(handle: number): string;
  };

/** What was made, before it is told apart from what else is told. */
export type MadeOutput = Omit<Made, "outputs"> & { out: "made" };

/** What is rare, before it is decoded: a message is told by its place among those that came along. */
export type RareOutput =
  | Exclude<CoreOutput, { out: "messages" } | { exchange: number }>
  | (Refusal & { out: "refused" });
