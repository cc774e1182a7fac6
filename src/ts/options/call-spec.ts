// A caller's request as the core takes it.
import { ConfigError } from "../api/errors.js";
import type { CallInfo, CallOptions, TaskOptions } from "../api/options.js";
import { textOf } from "../base/thrown.js";
import type { CallSpec } from "../core/protocol.js";
import type { CallHeaders } from "../http/exchanges.js";
import { group, isPlain, jsonObject, usableHeaders, usableSignal } from "./check.js";
import { readTimeouts, type Settings, usableOnGap } from "./settings.js";

const callClocks = ["connectMs", "firstByteMs", "idleMs", "callMs", "recoveryMs", "deadlineMs"] as const;
const known = ["timeouts", "idempotent", "signal", "headers", "_meta"] as const;
const ofTask = ["timeouts", "signal", "headers"] as const;
const ofOneStream = ["onGap", "resumptionToken", "onresumptiontoken"] as const;
const callKeyMember = "landfall/call-key";

/** A request as the core takes it, and what of its options stays with the wrapper. */
export interface Prepared {
  spec: CallSpec;
  /** What the user's callbacks are told of it, once it has an id. */
  about: Omit<CallInfo, "requestId">;
  /** The id of a Client's message; else the core gives one. */
  id?: string | number;
  signals: AbortSignal[];
  headers: CallHeaders | undefined;
  onToken: ((token: string) => void) | undefined;
  /** Reads the server's result: what the caller is given of it. */
  read?: (result: unknown) => unknown;
}

/** A request to prepare. */
export interface Wanted {
  method: string;
  params: Record<string, unknown>;
  /** The JSON text of `params`, where it is known. */
  text?: string;
  options: CallOptions | undefined;
  /** One of several requests behind one function: it asks for no progress, and is no stream to be taken up again. */
  isPage: boolean;
  /** The task that is taken up instead of sending the request. */
  task?: string;
}

/** Checks a request and writes its JSON. Throws {@link ConfigError}; nothing has happened then. */
export function prepare(wanted: Wanted, settings: Pick<Settings, "callMs">): Prepared {
  const { method, isPage } = wanted;
  const names = isPage ? known : [...known, ...ofOneStream];
  const options = group("options", wanted.options, names) as CallOptions;
  const { params, meta } = split(wanted, options);
  const name = method === "tools/call" ? wanted.params.name : undefined;
  const tool = typeof name === "string" ? { tool: name } : {};
  const { idempotent } = options;
  const signal = usableSignal(options.signal);
  if (idempotent !== undefined && typeof idempotent !== "boolean") {
    throw new ConfigError("idempotent", "idempotent must be true or false");
  }
  const { arguments: args } = wanted.params;
  return {
    spec: {
      method: checkedMethod(method),
      params,
      meta,
      progress: !isPage,
      handled: true,
      ...tool,
      ...(wanted.task === undefined ? {} : { task: wanted.task }),
      ...(idempotent === undefined ? {} : { idempotent }),
      ...stream(options),
      ...clocks(options, tool.tool, settings),
    },
    about: { method, ...tool, ...(args === undefined ? {} : { arguments: args }) },
    signals: signal === undefined ? [] : [signal],
    headers: options.headers === undefined ? undefined : { given: callHeaders(options.headers) },
    onToken: options.onresumptiontoken,
  };
}

/**
 * What the session's `replay` and `callKey` say of one call. `requestId` is asked only for what needs it. Throws
 * {@link ConfigError}: no call was made then.
 */
export function decide(
  { spec, about }: Prepared,
  { replay, callKey, relay }: Pick<Settings, "replay" | "callKey" | "relay">,
  requestId: () => string | number,
): CallSpec {
  const decided = { ...spec };
  if (typeof replay === "function") {
    const given = asked("replay", () => replay({ ...about, requestId: requestId() }));
    if (typeof given !== "boolean") throw new ConfigError("replay", "replay must give true or false");
    decided.replay = given;
  } else if (typeof replay === "object" && about.tool !== undefined && Object.hasOwn(replay, about.tool)) {
    decided.replay = replay[about.tool] === true;
  }
  // The caller's own no is above all that speaks for running it twice.
  if (spec.idempotent === false) decided.replay = false;
  if (callKey !== undefined) {
    const key = asked("callKey", () => callKey({ ...about, requestId: requestId() }));
    if (typeof key !== "string") throw new ConfigError("callKey", "callKey must give a string");
    // What the caller put there himself says more.
    decided.meta = JSON.stringify({ [callKeyMember]: key, ...JSON.parse(spec.meta) });
    if (relay) decided.keyed = true;
  }
  return decided;
}

function asked<T>(option: string, ask: () => T): T {
  try {
    return ask();
  } catch (cause) {
    throw new ConfigError(option, `${option} threw: ${textOf(cause)}`, { cause });
  }
}

/** The JSON text of the params of a tool call. Throws {@link ConfigError} for what is no name or no arguments. */
export function toolParams(name: unknown, args: object): string {
  if (typeof name !== "string" || name === "")
    throw new ConfigError("name", "name must be the name of a tool");
  return `{"name":${JSON.stringify(name)},"arguments":${jsonObject("arguments", args)}}`;
}

/** A task to take up. Throws {@link ConfigError} for what can't be the id of one. */
export function taskWanted(taskId: unknown, options: TaskOptions | undefined): Wanted {
  if (typeof taskId !== "string" || taskId === "")
    throw new ConfigError("taskId", "taskId must be the id of a task");
  const given = group("options", options, ofTask);
  // To ask for it does no harm.
  const safe = { ...given, idempotent: true };
  return { method: "tasks/get", params: { taskId }, options: safe, isPage: true, task: taskId };
}

/** The JSON text of a notification's params, empty where there are none. */
export function notificationParams(params: Record<string, unknown> | undefined): string {
  return params === undefined ? "" : jsonObject("params", params);
}

/** A method that may be sent: the handshake is landfall's own. */
export function checkedMethod(method: string): string {
  if (typeof method !== "string" || method === "") throw new ConfigError("method", "method must be a name");
  if (method === "initialize" || method === "notifications/initialized") {
    throw new ConfigError("method", `method ${method} is sent by landfall itself`);
  }
  return method;
}

/** The headers of one call: names with values, and no function, which would be asked too late. */
function callHeaders(headers: CallOptions["headers"]): HeadersInit | undefined {
  if (headers === undefined || isPlain(headers) || isHeaders(headers))
    return usableHeaders("headers", headers);
  throw new ConfigError("headers", "headers of a call must be an object of names and values");
}

/** Told by its tag, which those of other realms have, too. */
function isHeaders(value: unknown): boolean {
  return Object.prototype.toString.call(value) === "[object Headers]";
}

/** What concerns the one stream of a call. */
function stream({ onGap, resumptionToken, onresumptiontoken }: CallOptions) {
  if (resumptionToken !== undefined && (typeof resumptionToken !== "string" || resumptionToken === "")) {
    throw new ConfigError("resumptionToken", "resumptionToken must be a string that is not empty");
  }
  if (onresumptiontoken !== undefined && typeof onresumptiontoken !== "function") {
    throw new ConfigError("onresumptiontoken", "onresumptiontoken must be a function");
  }
  return {
    ...(onGap === undefined ? {} : { onGap: usableOnGap(onGap) }),
    ...(resumptionToken === undefined ? {} : { resumptionToken }),
    ...(onresumptiontoken === undefined ? {} : { tokens: true }),
  };
}

/** The call's own clocks, and the session's `callMs` where that depends on the tool. */
function clocks(options: CallOptions, tool: string | undefined, settings: Pick<Settings, "callMs">) {
  const { handshakeMs, handlerMs } = options.timeouts ?? {};
  if (handshakeMs !== undefined || handlerMs !== undefined) {
    const name = handshakeMs === undefined ? "handlerMs" : "handshakeMs";
    throw new ConfigError(name, `${name} is the session's: it can't be given for one call`);
  }
  const own = readTimeouts(options.timeouts, tool, callClocks);
  if (own.callMs !== undefined || settings.callMs === undefined || tool === undefined) return own;
  return { ...own, ...readTimeouts({ callMs: settings.callMs }, tool, callClocks) };
}

/** The JSON text of the params, and that of their `_meta`, in which the options stand above the params. */
function split(wanted: Wanted, { _meta: own }: CallOptions): { params: string; meta: string } {
  const metas = own === undefined ? [] : [metaText("_meta", own)];
  if (wanted.text !== undefined) return { params: wanted.text, meta: metas[0] ?? "{}" };
  if (!isPlain(wanted.params)) throw new ConfigError("params", "params must be a plain object");
  const { _meta: given, ...params } = wanted.params;
  if (given !== undefined) metas.unshift(metaText("params._meta", given));
  const [meta = "{}", above] = metas;
  return {
    params: jsonObject("params", params),
    meta: above === undefined ? meta : JSON.stringify({ ...JSON.parse(meta), ...JSON.parse(above) }),
  };
}

function metaText(option: string, meta: unknown): string {
  const text = jsonObject(option, meta as object);
  if ((meta as { progressToken?: unknown }).progressToken === undefined) return text;
  throw new ConfigError(`${option}.progressToken`, `${option}.progressToken is set by landfall itself`);
}
