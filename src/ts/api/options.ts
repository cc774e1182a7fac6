// The options of both ways in, of a call and of a message.
import type { CallEvent, SessionEvent } from "./events.js";

/**
 * The clocks, in milliseconds. `connectMs <= idleMs` and `callMs <= recoveryMs <= deadlineMs` must hold among the values
 * given; values not given follow those that are, and end no call before one of these. `Infinity`, NaN, 0 and negative
 * values are refused.
 */
export interface Timeouts {
  /**
   * `initialize`, and the longest wait for the module and for `headers()`. For a session, not a call.
   * @defaultValue 30 000, or `deadlineMs` if smaller
   */
  handshakeMs?: number;
  /**
   * Request to headers of a resume.
   * @defaultValue 5 000, or a quarter of `idleMs` if smaller
   */
  connectMs?: number;
  /**
   * Request to headers of a call's POST.
   * @defaultValue `callMs`
   */
  firstByteMs?: number;
  /**
   * No byte on a body being read; any byte re-arms it.
   * @defaultValue 45 000, or two thirds of `callMs` if smaller
   */
  idleMs?: number;
  /**
   * A call without progress or message while an exchange of it is open. A number, or of the tool's name.
   * @defaultValue 120 000, or a `recoveryMs` or `deadlineMs` that is set, if smaller
   */
  callMs?: number | ((tool: string) => number);
  /**
   * A sent call without an open exchange.
   * @defaultValue 120 000, or a `deadlineMs` that is set, if smaller, and `callMs` at least
   */
  recoveryMs?: number;
  /**
   * From the caller's call to its outcome; nothing extends it. At the same instant it wins.
   * @defaultValue 600 000, or `callMs + recoveryMs` if larger
   */
  deadlineMs?: number;
  /**
   * One event handler. For a session, not a call.
   * @defaultValue 30 000
   */
  handlerMs?: number;
}

/** What the callbacks of a session are told of a call. */
export interface CallInfo {
  /** The JSON-RPC method. */
  method: string;
  /** The tool's name, of a `tools/call`. */
  tool?: string;
  /** `params.arguments`, as it was given. */
  arguments?: unknown;
  /** The id of the request, as the call has it. */
  requestId: string | number;
}

/**
 * Which calls may be executed twice, where it is not known whether the first request was executed: `hints`, by the
 * caller's `idempotent` or else the tool's current annotations (`idempotentHint`, or `readOnlyHint` without
 * `destructiveHint`); `caller`, by the caller's word alone; `never`; by the tool's name, with hints for those not named;
 * or a function, asked once per call. Methods that only read may be executed twice unless it is `never`.
 */
export type Replay = "hints" | "caller" | "never" | Record<string, boolean> | ((call: CallInfo) => boolean);

/**
 * What to do where events are missing for certain: report it and go on, send the request again where that is safe and
 * fail as `gap` where it is not, or fail as `gap`. A gap is reported by a `gap` event in any case.
 */
export type OnGap = "continue" | "reissue" | "fail";

/** The signature of `fetch` as it is used here. */
export type FetchLike = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** What `fetch` takes as headers. */
export type HeadersLike = NonNullable<RequestInit["headers"]>;

/** What JSON carries. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** What is known of a session, to go on with it elsewhere: plain data that JSON carries. */
export interface State {
  /** Of this shape. */
  version: 1;
  /** The URL of the session. */
  endpoint: string;
  /** The rest is landfall's own. */
  [key: string]: Json;
}

/** Gives bearer tokens. The OAuthClientProvider of an SDK is accepted by the entries `landfall/v1` and `landfall/v2`. */
export interface AuthProvider {
  /** Asked before each request, which goes without one where it gives none. */
  token(): Promise<string | undefined> | string | undefined;
  /**
   * Called after a 401, once for all requests that met it; when it is done they are sent again. `response` comes without
   * its body. Where it throws, or is absent, those calls fail.
   */
  onUnauthorized?(context: { response: Response; serverUrl: URL; fetchFn: FetchLike }): Promise<void>;
}

/**
 * Options of a {@link LandfallTransport}: landfall's own, and every one of the official StreamableHTTPClientTransports.
 * Of those, one that makes no sense is ignored there and here.
 */
export interface TransportOptions {
  /** The clocks. */
  timeouts?: Timeouts;
  /** Attempts to recover. */
  retry?: {
    /**
     * The wait before the first; the next ones are doubled.
     * @defaultValue 500, or `maxMs` if smaller
     */
    baseMs?: number;
    /**
     * The longest wait between two.
     * @defaultValue 4 000, or `baseMs` if larger
     */
    maxMs?: number;
    /**
     * How often one call may be sent again, attempts that got no HTTP answer not counted; 0: never.
     * @defaultValue 2
     */
    maxReissues?: number;
  };
  /**
   * What a function throws, or gives that is no boolean, is a {@link ConfigError} of the call.
   * @defaultValue `hints`
   */
  replay?: Replay;
  /**
   * Gives one string per call, which goes out as `_meta["landfall/call-key"]`, the same whenever the request is sent
   * again, by landfall or by the browser: a server can drop repeats by it. A caller's own `_meta` member of that name
   * stays. What it throws, or gives that is no string, is a {@link ConfigError} of the call.
   */
  callKey?: (call: CallInfo) => string;
  /**
   * The endpoint is a relay of landfall's, and trusted as one. Each call is given a call key, a random one where there is
   * no `callKey`, by which the relay runs a repeated request once, so that one that was lost is sent again
   * in the same session; and an error that tells of a failure behind the relay
   * (`data["io.landfall/failure"]`) ends its call as `tool_call_failed`, with the reason that it tells. `not_sent` is never
   * believed, and `retrySafe` judged here, by the caller's word alone. Metrics count such a call as answered. Any server
   * could tell such a thing: leave it off for one that is no relay.
   * @defaultValue false
   */
  relay?: boolean;
  /**
   * What to do where events are missing for certain.
   * @defaultValue `continue`
   */
  onGap?: OnGap;
  /**
   * Given the `params` of the last message or progress before a resume and of the first after it: `true` says that
   * something is missing between them, for certain. What it throws is logged and says nothing.
   */
  isGap?: (before: unknown, after: unknown) => boolean;
  /**
   * When the server has forgotten the session: `replace` makes another and sends its calls again where that is safe;
   * `fail` ends them as `session_lost`.
   * @defaultValue `replace`
   */
  onSessionLost?: "replace" | "fail";
  /**
   * How it is found out what the server speaks. `auto` asks for the era in which a call survives most: `initialize` first,
   * for only its streams can be resumed, then `server/discover`, then a GET for the `endpoint` event of HTTP+SSE (2024-11-05).
   * `legacy`, `modern` and `sse` ask the first, second or third of these alone; `resumable` was a name of `auto`. A {@link LandfallTransport} asks nothing: its Client's messages say what they
   * are.
   * @defaultValue `auto`
   */
  era?: "auto" | "legacy" | "modern" | "sse" | "resumable";
  /**
   * The protocol versions to accept, the preferred one first.
   * @defaultValue `2026-07-28`, `2025-11-25`, `2025-06-18`, `2025-03-26`
   */
  protocolVersions?: string[];
  /** Bounds on what is open, waits or is held at once. */
  limits?: {
    /**
     * Open bodies, one of them for control traffic.
     * @defaultValue 32; in browsers 5 where a server speaks HTTP/1.1; in workerd 5 that wait for headers, whatever bodies
     * are open
     */
    maxConcurrent?: number;
    /**
     * Calls that wait for one of these. Beyond it a call fails as `queue_full`.
     * @defaultValue 1 000
     */
    maxQueued?: number;
    /**
     * Messages and progress of one call that were handed out and not handled yet, or wait for a loop that has begun:
     * beyond it the body is not read.
     */
    maxPending?: {
      /**
       * How many.
       * @defaultValue 256
       */
      events?: number;
      /**
       * Their bytes.
       * @defaultValue 4 MiB
       */
      bytes?: number;
    };
    /**
     * Bytes of one event of a stream.
     * @defaultValue 16 MiB
     */
    maxEventBytes?: number;
    /**
     * Bytes of a body that is no stream.
     * @defaultValue 16 MiB
     */
    maxBodyBytes?: number;
    /**
     * Bytes of an event id; a stream with a longer one can't be resumed.
     * @defaultValue 1 024
     */
    maxIdBytes?: number;
    /**
     * Requests of the server's that are open in one call; one more is refused.
     * @defaultValue 16
     */
    maxQuestions?: number;
    /**
     * Bytes of events and bodies that are not whole yet, of all calls together: beyond it the call that holds the most
     * fails as `message_too_large`.
     * @defaultValue 64 MiB, or `maxEventBytes` or `maxBodyBytes` if larger
     */
    maxBufferedBytes?: number;
  };
  /** Used instead of `globalThis.fetch`, and like it called without a receiver. */
  fetch?: FetchLike;
  /** Added to every request; `method`, `body` and `signal` are landfall's. */
  requestInit?: RequestInit;
  /**
   * Added to every request; a function is asked for each one. The names `accept`, `content-type`, `last-event-id` and
   * `mcp-*` are landfall's: given here they are left out, with a warning to the logger.
   */
  headers?: HeadersLike | (() => HeadersLike | Promise<HeadersLike>);
  /**
   * Send the DELETE that ends the server's session when closing. The official transports send none: their applications
   * go on with the `sessionId` later.
   * @defaultValue true in a session of {@link Connect}, but false with a `state`, which says that it is to be taken up
   * again; false in a {@link LandfallTransport}
   */
  terminateSessionOnClose?: boolean;
  /**
   * `full` shows session ids and cursors in diagnostics and errors; else they are digests.
   * @defaultValue `redacted`
   */
  diagnostics?: "redacted" | "full";
  /**
   * Told what happens, never with arguments, results or tokens. Without one, warnings and what handlers threw go to the
   * console; with `false` nothing does.
   */
  logger?:
    | false
    | {
        debug?(m: string, data?: object): void;
        info?(m: string, data?: object): void;
        warn?(m: string, data?: object): void;
        error?(m: string, data?: object): void;
      };
  /**
   * Whether to open a stream for messages that belong to no call. `auto`: in a {@link LandfallTransport} always, once the
   * server took `notifications/initialized`, as the official transports do; in a session where `onEvent`, `onEvents` or
   * `onRequest` would hear of them. At 2026-07-28 that is a `subscriptions/listen` for the changes of lists that the server's
   * capabilities offer, and of resources that were subscribed to in an earlier session of another era. For other resources
   * make that request yourself, by `session.request`: it is kept up in the same way, as one call. A Client's transport
   * opens none there: the Client does.
   * @defaultValue `auto`
   */
  listen?: "auto" | boolean;
  /**
   * Calls of a tool that the server answers by a task (2026-07-28, the extension `io.modelcontextprotocol/tasks`): each
   * request says that it may, and such a call is carried to its end, whatever is cut meanwhile. `"drive"` is `true`. With
   * `false` no request of a session says so; in a {@link LandfallTransport} a Client that says so itself is given the task.
   * A Client takes no question at 2026-07-28: a task that wants input ends its call as `protocol_error`.
   * @defaultValue true in a session of {@link Connect}; false in a {@link LandfallTransport}
   */
  tasks?: boolean | "drive";
  /** Gives each request its bearer token, and gets another where the server refuses it. */
  authProvider?: AuthProvider;
  /** Told every event of every call and of the session, in order. What it throws is logged. */
  onevent?: (event: CallEvent | SessionEvent) => void;
  /** Told the same in arrays: all that came in one turn, at least one event. */
  onevents?: (events: (CallEvent | SessionEvent)[]) => void;
  /** A session that another client began. An official Client then sends no `initialize`, and knows no capabilities. */
  sessionId?: string;
  /** The protocol version of that session. */
  protocolVersion?: string;
  /**
   * `same-origin` follows redirects that keep the origin and the method; any other ends its call as
   * `redirected`. A browser hides where a redirect leads: there it is asked once, by a GET that carries nothing, and kept
   * for the session. `follow` leaves redirects to `fetch`, which hands the body, the session's id and headers to whatever
   * origin they name. With a `requestInit.redirect` of `error` or `manual` none is followed.
   * @defaultValue `same-origin`
   */
  redirectPolicy?: "same-origin" | "follow";
  /**
   * The official transports' options: the delays are `retry.baseMs` and `retry.maxMs`, unless these are given, too;
   * `maxRetries` bounds attempts in a row that brought nothing, and with 0 no stream is resumed.
   */
  reconnectionOptions?: {
    initialReconnectionDelay: number;
    maxReconnectionDelay: number;
    reconnectionDelayGrowFactor: number;
    maxRetries: number;
  };
  /**
   * Replaces the waits before a stream is resumed: it calls `reconnect` when it is time, and may return how to give up.
   * It replaces no clock.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: as the SDKs have it
  reconnectionScheduler?: (reconnect: () => void, delay: number, attempt: number) => (() => void) | void;
  /** For an OAuth provider (`landfall/v1`, `landfall/v2`): what a 403 that asks for more scope leads to. */
  onInsufficientScope?: "reauthorize" | "throw";
  /**
   * For an OAuth provider: how often one call may ask for more scope.
   * @defaultValue 1
   */
  maxStepUpRetries?: number;
  /** For an OAuth provider of `landfall/v2`: what that SDK's option of the same name says. */
  skipIssuerMetadataValidation?: boolean;
}

/** Options of {@link Connect}. One that this version does not know is refused with a {@link ConfigError}. */
export interface ConnectOptions
  extends Omit<TransportOptions, "onevent" | "onevents" | "sessionId" | "protocolVersion"> {
  /**
   * Who this client is, for `initialize`.
   * @defaultValue landfall and its version
   */
  clientInfo?: { name: string; version: string };
  /**
   * Gives the opening up: `connect` rejects as `cancelled`, and nothing of it is left. A session that stands is not
   * touched by it.
   */
  signal?: AbortSignal;
  /**
   * The client capabilities, for `initialize`. What `onRequest` can answer belongs here.
   * @defaultValue none
   */
  capabilities?: Record<string, unknown>;
  /**
   * Answers a request of the server's (sampling, elicitation, roots), also one that a result or a task holds, at
   * 2026-07-28. What it gives is the result. A {@link ServerError} that it throws is the server's answer as it is; anything
   * else that it throws becomes a JSON-RPC error -32603, and without it the server is told -32601; at 2026-07-28, which has
   * no such words, the call ends as `protocol_error` in all these cases. `signal` is aborted when the server cancels the
   * request, when its call ends, and when the session does. `requestId` is the id of the call that it came in, where it
   * came in one.
   */
  onRequest?: (request: {
    method: string;
    params?: unknown;
    signal: AbortSignal;
    requestId?: string | number;
  }) => Promise<unknown>;
  /**
   * Given every event of every call and of the session, in order; one is not waited for before the next. A message or
   * progress is handled when what it gives for it settles, within `handlerMs`. One that throws or rejects is logged, and
   * its event comes again with the next resume, once; a stream is never resumed for it.
   */
  onEvent?: (event: CallEvent | SessionEvent) => void | Promise<void>;
  /**
   * Given the same in arrays, all that came in one turn, at least one event: for whoever takes thousands. Those of an array
   * are handled, or have failed, together, as of `onEvent`.
   */
  onEvents?: (events: (CallEvent | SessionEvent)[]) => void | Promise<void>;
  /**
   * Asked where a call is about to fail with the outcome `unknown` (not for one that was cancelled, or that ends with the
   * session): a value other than `undefined` becomes its result. It has 3 x `connectMs`, which add to `deadlineMs`. What
   * it throws is logged and is no result.
   */
  onUnknown?: (call: CallInfo) => Promise<unknown | undefined>;
  /**
   * What `exportState()` gave: the session is gone on with, and no handshake is made. One that the server no longer knows
   * is replaced at the first call. It is not ended by `close()` unless `terminateSessionOnClose` says so.
   */
  state?: State;
}

/** Options of one call. */
export interface CallOptions {
  /** The clocks of this call; `handshakeMs` and `handlerMs` are the session's. */
  timeouts?: Timeouts;
  /** Whether executing this call twice does no harm, as the caller knows: above `replay` and the hints of its tool. */
  idempotent?: boolean;
  /** Cancels the call. Its reason is the `cause` of the error. */
  signal?: AbortSignal;
  /** More members of `params._meta`. The progress token is landfall's own. */
  _meta?: Record<string, unknown>;
  /** Of this call, above the session's own. Not for `listTools`. */
  onGap?: OnGap;
  /** A cursor: the call starts by resuming its stream there, and nothing is posted. Not for `listTools`. */
  resumptionToken?: string;
  /**
   * Told each new cursor of the call once everything before it was handled, also after resumes. What it throws is logged.
   * Not for `listTools`.
   */
  onresumptiontoken?: (token: string) => void;
  /** Added to the requests of this call, above the session's own headers. */
  headers?: Record<string, string>;
}

/** Options of {@link Session.task}. */
export type TaskOptions = Pick<CallOptions, "timeouts" | "signal" | "headers">;

/** Options of {@link ClientTransport.send}: those that the Clients of the SDKs pass. */
export interface SendOptions {
  /** The server's request that this message belongs to. */
  relatedRequestId?: string | number;
  /** A cursor: the request is not posted, but its stream resumed there. */
  resumptionToken?: string;
  /** Told each new cursor, also after resumes. */
  onresumptiontoken?: (token: string) => void;
  /** Cancels the request. */
  requestSignal?: AbortSignal;
  /** Cancels the request. */
  signal?: AbortSignal;
  /** Called once when the stream of the request is gone for good, and not because the caller wished it. */
  onRequestStreamEnd?: () => void;
  /** Headers of this request, `Mcp-Param-*` among them; those that are the transport's are left out. */
  headers?: Readonly<Record<string, string>>;
}

/** Options of a Client's request. */
export interface SdkRequestOptions {
  /** Milliseconds until the Client gives up; progress starts it anew. */
  timeout: number;
  /** Milliseconds until it gives up in any case. */
  maxTotalTimeout: number;
  /** Progress is life. */
  resetTimeoutOnProgress: true;
  /** Asks for progress, and hears nothing: to be replaced by a handler of your own. */
  onprogress: (progress: unknown) => void;
}

/** A compiled `WebAssembly.Module`: TypeScript knows that name with the types of the DOM alone, and as any object. */
export type WasmModule = object;

/** What a module can be made of. */
export type ModuleSource = WasmModule | ArrayBuffer | ArrayBufferView | URL | Response;
