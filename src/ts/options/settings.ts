// The options of a session, checked, as settings.
import { ConfigError } from "../api/errors.js";
import type { ConnectOptions, FetchLike, OnGap, Replay, Timeouts } from "../api/options.js";
import { clockText } from "../base/clock-text.js";
import { Log } from "../base/log.js";
import { baseUrl, isCrossOrigin, isWorkerd, mostConcurrent, randomSeed } from "../base/runtime.js";
import { ServerText } from "../base/server-text.js";
import type { CoreConfig, SessionFacts } from "../core/protocol.js";
import { type ReadProvider, smallProviders } from "../http/credentials.js";
import type { ExchangeSettings } from "../http/exchanges.js";
import { fetchOfProvider } from "../http/provider-fetch.js";
import {
  callable,
  group,
  jsonObject,
  numeric,
  object,
  oneOf,
  plain,
  usableHeaders,
  usableSignal,
  whole,
} from "./check.js";
import { endpointOf, readState } from "./state.js";

/** The version of the package, as `clientInfo` tells it to servers that are given no other. */
export const VERSION = "0.1.0";

/** The options of a session, checked for kind; the core checks the numbers. */
export interface Settings extends ExchangeSettings {
  /** The configuration of a core, made anew with a seed of its own for each. */
  core(): CoreConfig;
  /** Its origin and its path: what is shown of the address. */
  endpoint: string;
  /** `timeouts.callMs`, where it is a function of the tool's name. */
  callMs: ((tool: string) => number) | undefined;
  /** `timeouts.callMs` was given. */
  hasCallMs: boolean;
  /** `limits.maxBodyBytes` in force. */
  mostBodyBytes: number;
  /** The longest wait for what `onEvent` gives. */
  handlerMs: number;
  /** Gives the opening of the session up. */
  signal: AbortSignal | undefined;
  onRequest: ConnectOptions["onRequest"];
  onEvent: ConnectOptions["onEvent"];
  onEvents: ConnectOptions["onEvents"];
  onUnknown: ConnectOptions["onUnknown"];
  replay: Replay | undefined;
  callKey: ConnectOptions["callKey"];
  relay: boolean;
  isGap: ConnectOptions["isGap"];
  /** The session to go on with. */
  known: SessionFacts | undefined;
  scheduler: ConnectOptions["reconnectionScheduler"];
  /** The fetch that a provider of credentials is given. */
  providerFetch: FetchLike;
}

const clocks = [
  "handshakeMs",
  "connectMs",
  "firstByteMs",
  "idleMs",
  "callMs",
  "recoveryMs",
  "deadlineMs",
  "handlerMs",
] as const;
const retries = ["baseMs", "maxMs", "maxReissues"] as const;
const bounds = [
  "maxConcurrent",
  "maxQueued",
  "maxEventBytes",
  "maxBodyBytes",
  "maxIdBytes",
  "maxQuestions",
  "maxBufferedBytes",
] as const;
const pending = ["events", "bytes"] as const;
const defaultHandshakeMs = 30_000;
const replays = ["hints", "caller", "never"] as const;
/** Options of a session, whoever does its handshake. */
export const sharedOptions = [
  "timeouts",
  "retry",
  "replay",
  "callKey",
  "relay",
  "onGap",
  "isGap",
  "onSessionLost",
  "era",
  "protocolVersions",
  "limits",
  "fetch",
  "requestInit",
  "headers",
  "terminateSessionOnClose",
  "diagnostics",
  "logger",
  "listen",
  "tasks",
  "authProvider",
  "redirectPolicy",
  "reconnectionOptions",
  "reconnectionScheduler",
  "onInsufficientScope",
  "maxStepUpRetries",
  "skipIssuerMetadataValidation",
] as const;
const known = [
  ...sharedOptions,
  "clientInfo",
  "capabilities",
  "signal",
  "onRequest",
  "onEvent",
  "onEvents",
  "onUnknown",
  "state",
] as const;

/**
 * Reads the address and the options of a session. Throws {@link ConfigError} for what can't be honoured. `readProvider`
 * may know more kinds of provider than the small one.
 */
export function readSettings(
  url: string | URL,
  given: ConnectOptions = {},
  readProvider: ReadProvider = smallProviders(),
): Settings {
  const options = group("options", given, known) as ConnectOptions;
  const { handlerMs = 30_000, ...counted } = numbers(options);
  const { url: address } = endpoint(url);
  const { authProvider, relay: isRelay = false } = options;
  if (typeof isRelay !== "boolean") throw new ConfigError("relay", "relay must be true or false");
  const credentials =
    authProvider === undefined ? undefined : readProvider(authProvider, new URL(address), options);
  // The core has no part in handlerMs: it can't tell a handler from a loop, whose time is not limited.
  const core = {
    ...{ url: address, ...reconnection(options), ...identity(options), ...counted, ...choices(options) },
    ...(credentials === undefined ? {} : { auth: true, maxStepUps: credentials.maxStepUps }),
  };
  const callMs = options.timeouts?.callMs;
  const serverText = new ServerText();
  return {
    core: () => ({
      ...concurrency(core.url),
      ...core,
      seed: randomSeed(),
      crossOrigin: isCrossOrigin(core.url),
    }),
    endpoint: endpointOf(address),
    callMs: typeof callMs === "function" ? callMs : undefined,
    hasCallMs: callMs !== undefined,
    ...handshake(core),
    mostBodyBytes: options.limits?.maxBodyBytes ?? 16 * 1024 * 1024,
    handlerMs,
    fetch: usableFetch(options.fetch),
    requestInit: usableInit(options.requestInit),
    headers: usableHeaders("headers", options.headers),
    signal: usableSignal(options.signal),
    onRequest: callable("onRequest", options.onRequest),
    onEvent: callable("onEvent", options.onEvent),
    onEvents: callable("onEvents", options.onEvents),
    onUnknown: callable("onUnknown", options.onUnknown),
    replay: usableReplay(options.replay),
    callKey: callable("callKey", options.callKey) ?? (isRelay ? randomKey : undefined),
    relay: isRelay,
    isGap: callable("isGap", options.isGap),
    known: options.state === undefined ? undefined : readState(options.state, address),
    scheduler: callable("reconnectionScheduler", options.reconnectionScheduler),
    credentials,
    providerFetch: fetchOfProvider({
      fetch: options.fetch,
      requestInit: options.requestInit ?? {},
      follow: options.redirectPolicy === "follow",
      endpoint: new URL(address),
    }),
    serverText,
    log: new Log(options.logger === false ? false : object("logger", options.logger), serverText),
  };
}

/** Clocks as numbers: `callMs` is asked for the tool. `allowed` are those that make sense here. */
export function readTimeouts(
  timeouts: Timeouts | undefined,
  tool: string | undefined,
  allowed: readonly (typeof clocks)[number][] = clocks,
): { [clock in (typeof clocks)[number]]?: number } {
  const given = group("timeouts", timeouts, allowed) as Timeouts;
  const { callMs, ...rest } = given;
  const asked =
    typeof callMs === "function" ? (tool === undefined ? undefined : askCallMs(callMs, tool)) : callMs;
  return numeric("", asked === undefined ? rest : { ...rest, callMs: asked });
}

function askCallMs(callMs: (tool: string) => unknown, tool: string): number {
  let asked: unknown;
  try {
    asked = callMs(tool);
  } catch (thrown) {
    throw new ConfigError("callMs", "callMs was given as a function, and that threw", { cause: thrown });
  }
  if (typeof asked === "number") return asked;
  throw new ConfigError("callMs", "callMs was given as a function, and what it returned is no number");
}

/** What to do about a gap. */
export function usableOnGap(value: unknown): OnGap {
  return oneOf("onGap", value, ["continue", "reissue", "fail"]);
}

function endpoint(url: string | URL): { url: string } {
  let parsed: URL;
  try {
    parsed = new URL(url, baseUrl());
  } catch (thrown) {
    throw new ConfigError("url", "url is not an absolute URL", { cause: thrown });
  }
  if (parsed.protocol !== "https:" && parsed.protocol !== "http:") {
    throw new ConfigError("url", `url must be http: or https:, and is ${parsed.protocol}`);
  }
  if (parsed.username !== "" || parsed.password !== "") {
    throw new ConfigError(
      "url",
      "url carries a user name or a password, which no fetch accepts: use headers",
    );
  }
  parsed.hash = "";
  return { url: parsed.href };
}

function identity(options: ConnectOptions): { clientInfo: string; capabilities: string } {
  const info = options.clientInfo ?? { name: "landfall", version: VERSION };
  if (typeof info?.name !== "string" || typeof info.version !== "string") {
    throw new ConfigError("clientInfo", "clientInfo needs a name and a version, both strings");
  }
  return {
    clientInfo: jsonObject("clientInfo", info),
    capabilities: jsonObject("capabilities", options.capabilities ?? {}),
  };
}

function numbers(options: ConnectOptions) {
  const { maxPending, ...rest } = group("limits", options.limits, [...bounds, "maxPending"]);
  const { events, bytes } = numeric("limits.maxPending.", group("limits.maxPending", maxPending, pending));
  const limits = numeric("limits.", rest);
  const retry = numeric("retry.", group("retry", options.retry, retries));
  const timeouts = readTimeouts(options.timeouts, undefined);
  const { handlerMs } = timeouts;
  if (handlerMs !== undefined && !(handlerMs > 0 && handlerMs < Number.POSITIVE_INFINITY)) {
    throw new ConfigError("handlerMs", `handlerMs must be a finite number above 0, not ${handlerMs}`);
  }
  return {
    ...timeouts,
    ...retry,
    ...limits,
    ...(events === undefined ? {} : { maxPendingEvents: whole("limits.maxPending.events", events) }),
    ...(bytes === undefined ? {} : { maxPendingBytes: whole("limits.maxPending.bytes", bytes) }),
  };
}

/** The clock of what the wrapper waits for itself, the module before there is a core. */
function handshake({ handshakeMs, deadlineMs = Number.POSITIVE_INFINITY }: Timeouts) {
  const [ms, whose] =
    handshakeMs !== undefined
      ? [handshakeMs, "set by the caller"]
      : deadlineMs < defaultHandshakeMs
        ? [deadlineMs, "follows deadlineMs"]
        : [defaultHandshakeMs, "the default"];
  return { handshakeMs: ms, handshakeClock: clockText("handshakeMs", ms, whose) };
}

function concurrency(url: string): { maxConcurrent?: number; untilHeaders?: boolean } {
  // Of six requests that wait for headers at once, workerd lets the seventh wait; bodies are not counted.
  if (isWorkerd()) return { maxConcurrent: 5, untilHeaders: true };
  const maxConcurrent = mostConcurrent(url);
  return maxConcurrent === undefined ? {} : { maxConcurrent };
}

function choices(options: ConnectOptions) {
  const { protocolVersions } = options;
  if (protocolVersions !== undefined) {
    const strings =
      Array.isArray(protocolVersions) && protocolVersions.every((each) => typeof each === "string");
    if (!strings || protocolVersions.length === 0) {
      throw new ConfigError(
        "protocolVersions",
        "protocolVersions must be a list of strings with one at least",
      );
    }
  }
  const terminate = options.terminateSessionOnClose ?? options.state === undefined;
  if (typeof terminate !== "boolean") {
    throw new ConfigError("terminateSessionOnClose", "terminateSessionOnClose must be true or false");
  }
  const { replay, onGap, onSessionLost } = options;
  return {
    ...(typeof replay === "string" ? { replay: oneOf("replay", replay, replays) } : {}),
    ...(onGap === undefined ? {} : { onGap: usableOnGap(onGap) }),
    ...(onSessionLost === undefined
      ? {}
      : { onSessionLost: oneOf("onSessionLost", onSessionLost, ["replace", "fail"]) }),
    era: oneOf("era", options.era ?? "auto", ["auto", "legacy", "modern", "sse", "resumable"]),
    full: oneOf("diagnostics", options.diagnostics ?? "redacted", ["redacted", "full"]) === "full",
    terminate,
    ...redirects(options),
    ...(listens(options) ? { listen: true } : {}),
    ...(drivesTasks(options) ? { tasks: true } : {}),
    ...(protocolVersions === undefined ? {} : { protocolVersions: [...protocolVersions] }),
  };
}

/** Whether to open the stream for what belongs to no call: only where somebody would hear it. */
function listens({ listen = "auto", onEvent, onEvents, onRequest }: ConnectOptions): boolean {
  const wish = typeof listen === "boolean" ? listen : oneOf("listen", listen, ["auto"]);
  return wish === "auto" ? [onEvent, onEvents, onRequest].some((each) => each !== undefined) : wish;
}

function drivesTasks({ tasks = true }: ConnectOptions): boolean {
  return typeof tasks === "boolean" ? tasks : oneOf("tasks", tasks, ["drive"]) === "drive";
}

function redirects({ redirectPolicy, requestInit }: ConnectOptions): Pick<CoreConfig, "redirects"> {
  const policy = oneOf("redirectPolicy", redirectPolicy ?? "same-origin", ["same-origin", "follow"]);
  const { redirect } = requestInit ?? {};
  if (redirect === "error" || redirect === "manual") return { redirects: "refuse" };
  return policy === "follow" ? { redirects: "follow" } : {};
}

function usableReplay(given: Replay | undefined): Replay | undefined {
  if (given === undefined || typeof given === "string" || typeof given === "function") return given;
  for (const [tool, value] of Object.entries(plain("replay", given))) {
    if (typeof value === "boolean") continue;
    throw new ConfigError(`replay.${tool}`, `replay.${tool} must be true or false`);
  }
  return { ...given };
}

function usableFetch(given: FetchLike | undefined): FetchLike | undefined {
  if (callable("fetch", given) === undefined && typeof globalThis.fetch !== "function") {
    throw new ConfigError("fetch", "this runtime has no fetch of its own: the option fetch is needed");
  }
  return given;
}

function usableInit(given: RequestInit | undefined): RequestInit {
  const init = { ...plain("requestInit", given) };
  for (const name of ["method", "body", "signal"] as const) {
    if (init[name] === undefined || init[name] === null) continue;
    throw new ConfigError(
      `requestInit.${name}`,
      `requestInit.${name} can't be given: landfall sets it per request`,
    );
  }
  usableHeaders("requestInit.headers", init.headers);
  return init;
}

type Reconnection = Pick<CoreConfig, "baseMs" | "maxMs" | "growFactor" | "maxRetries" | "scheduler">;

const isCount = (value: unknown): value is number =>
  typeof value === "number" && Number.isFinite(value) && value >= 0;

/**
 * The official transports' options for reconnecting, in terms of the core. Those transports check nothing, so what makes
 * no sense here is left out, and nothing that constructs there is refused.
 */
function reconnection(options: ConnectOptions): Reconnection {
  const { reconnectionOptions, reconnectionScheduler } = options;
  const { initialReconnectionDelay, maxReconnectionDelay, reconnectionDelayGrowFactor, maxRetries } =
    reconnectionOptions ?? {};
  // The core's own limits: a wait takes time, and the first is not longer than the longest.
  const baseMs = isCount(initialReconnectionDelay) ? Math.max(1, initialReconnectionDelay) : undefined;
  const maxMs = isCount(maxReconnectionDelay) ? Math.max(baseMs ?? 1, maxReconnectionDelay) : undefined;
  const isGrowing = isCount(reconnectionDelayGrowFactor) && reconnectionDelayGrowFactor >= 1;
  return {
    ...(baseMs === undefined ? {} : { baseMs }),
    ...(maxMs === undefined ? {} : { maxMs }),
    ...(isGrowing ? { growFactor: reconnectionDelayGrowFactor } : {}),
    ...(isCount(maxRetries) ? { maxRetries: Math.floor(maxRetries) } : {}),
    ...(typeof reconnectionScheduler === "function" ? { scheduler: true } : {}),
  };
}

/** A call key that nobody else gives. */
function randomKey(): string {
  return randomSeed().toString(36) + randomSeed().toString(36);
}
