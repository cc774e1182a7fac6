import type { CoreConfig } from "./driver.js";
import { ConfigError, textOf } from "./errors.js";
import { Log } from "./log.js";
import { baseUrl, isBrowser, mostConcurrent, randomSeed } from "./runtime.js";
import type { ConnectOptions, FetchLike, Timeouts } from "./types.js";
import { VERSION } from "./version.js";

/** The options of a session, checked for kind; the core checks the numbers. */
export interface Settings {
  /** The configuration of a core, made anew with a seed of its own for each. */
  core(): CoreConfig;
  /** `timeouts.callMs`, where it is a function of the tool's name. */
  callMs: ((tool: string) => number) | undefined;
  /** The longest wait for the module and for `headers()`. */
  handshakeMs: number;
  fetch: FetchLike | undefined;
  requestInit: RequestInit;
  headers: ConnectOptions["headers"];
  onRequest: ConnectOptions["onRequest"];
  onEvent: ConnectOptions["onEvent"];
  log: Log;
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
const waits = ["baseMs", "maxMs"] as const;
const bounds = ["maxConcurrent", "maxQueued", "maxEventBytes", "maxBodyBytes", "maxIdBytes"] as const;
const known = [
  "timeouts",
  "retry",
  "era",
  "protocolVersions",
  "limits",
  "fetch",
  "requestInit",
  "headers",
  "terminateSessionOnClose",
  "diagnostics",
  "logger",
  "clientInfo",
  "capabilities",
  "onRequest",
  "onEvent",
] as const;

/** Reads the address and the options of a session. Throws {@link ConfigError} for what can't be honoured. */
export function readSettings(url: string | URL, given: ConnectOptions = {}): Settings {
  const options = group("options", given, known) as ConnectOptions;
  const core = { ...endpoint(url), ...identity(options), ...numbers(options), ...choices(options) };
  const callMs = options.timeouts?.callMs;
  return {
    core: () => ({ ...concurrency(core.url), ...core, seed: randomSeed(), browser: isBrowser() }),
    callMs: typeof callMs === "function" ? callMs : undefined,
    handshakeMs: core.handshakeMs ?? Math.min(30_000, core.deadlineMs ?? 30_000),
    fetch: usableFetch(options.fetch),
    requestInit: usableInit(options.requestInit),
    headers: usableHeaders("headers", options.headers),
    onRequest: callable("onRequest", options.onRequest),
    onEvent: callable("onEvent", options.onEvent),
    log: new Log(object("logger", options.logger)),
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
  const asked = typeof callMs === "function" ? (tool === undefined ? undefined : callMs(tool)) : callMs;
  return numeric("", asked === undefined ? rest : { ...rest, callMs: asked });
}

/** JSON text of an object. Throws {@link ConfigError} for what JSON can't carry. */
export function jsonObject(option: string, value: object): string {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new ConfigError(option, `${option} must be an object`);
  }
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (thrown) {
    throw new ConfigError(option, `${option} can't be written as JSON: ${textOf(thrown)}`, { cause: thrown });
  }
  if (text === undefined || !text.startsWith("{"))
    throw new ConfigError(option, `${option} is no object in JSON`);
  return text;
}

/** An object with no other members than `names`; members that are `undefined` are left out. */
export function group(option: string, value: unknown, names: readonly string[]): Record<string, unknown> {
  const members: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(object(option, value) ?? {})) {
    if (member === undefined) continue;
    if (!names.includes(name)) {
      const path = option === "options" ? name : `${option}.${name}`;
      throw new ConfigError(path, `${path} is not an option that this version of landfall honours here`);
    }
    members[name] = member;
  }
  return members;
}

/** Headers, or a function that will give them. */
export function usableHeaders<T>(option: string, headers: T): T {
  if (headers === undefined || typeof headers === "function") return headers;
  try {
    new Headers(headers as HeadersInit);
  } catch (thrown) {
    throw new ConfigError(option, `${option} can't be used: ${textOf(thrown)}`, { cause: thrown });
  }
  return headers;
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
  const limits = numeric("limits.", group("limits", options.limits, bounds));
  const retry = numeric("retry.", group("retry", options.retry, waits));
  const timeouts = readTimeouts(options.timeouts, undefined);
  const { handlerMs } = timeouts;
  if (handlerMs !== undefined && !(handlerMs > 0 && handlerMs < Number.POSITIVE_INFINITY)) {
    throw new ConfigError("handlerMs", `handlerMs must be a finite number above 0, not ${handlerMs}`);
  }
  return { ...timeouts, ...retry, ...limits };
}

function concurrency(url: string): { maxConcurrent?: number } {
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
  const terminate = options.terminateSessionOnClose ?? true;
  if (typeof terminate !== "boolean") {
    throw new ConfigError("terminateSessionOnClose", "terminateSessionOnClose must be true or false");
  }
  return {
    era: oneOf("era", options.era ?? "auto", ["auto", "legacy", "resumable"]),
    full: oneOf("diagnostics", options.diagnostics ?? "redacted", ["redacted", "full"]) === "full",
    terminate,
    ...(protocolVersions === undefined ? {} : { protocolVersions: [...protocolVersions] }),
  };
}

function oneOf(option: string, value: unknown, values: string[]): string {
  if (typeof value === "string" && values.includes(value)) return value;
  const later = option === "era" && (value === "modern" || value === "sse");
  const why = later ? "comes with a later version" : `must be one of ${values.join(", ")}`;
  throw new ConfigError(option, `${option}: ${later ? `"${value}" ` : ""}${why}`);
}

function numeric<K extends string>(
  prefix: string,
  values: { [key in K]?: unknown },
): { [key in K]?: number } {
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === "number") continue;
    const option = prefix + name;
    throw new ConfigError(option, `${option} must be a number, and is a ${typeof value}`);
  }
  return values as { [key in K]?: number };
}

function object<T>(option: string, value: T): T {
  if (value === undefined || (typeof value === "object" && value !== null)) return value;
  throw new ConfigError(option, `${option} must be an object`);
}

function callable<T>(option: string, value: T): T {
  if (value === undefined || typeof value === "function") return value;
  throw new ConfigError(option, `${option} must be a function`);
}

function usableFetch(given: FetchLike | undefined): FetchLike | undefined {
  if (callable("fetch", given) === undefined && typeof globalThis.fetch !== "function") {
    throw new ConfigError("fetch", "this runtime has no fetch of its own: the option fetch is needed");
  }
  return given;
}

function usableInit(given: RequestInit | undefined): RequestInit {
  const init = { ...object("requestInit", given) };
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
