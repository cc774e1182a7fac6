import { group, jsonObject, readTimeouts, type Settings, usableHeaders } from "./config.js";
import type { CallSpec } from "./driver.js";
import { ConfigError } from "./errors.js";
import type { CallOptions } from "./types.js";

const callClocks = ["connectMs", "firstByteMs", "idleMs", "callMs", "recoveryMs", "deadlineMs"] as const;
const known = ["timeouts", "idempotent", "signal", "headers"] as const;

/** A request as the core takes it, and what of its options stays with the wrapper. */
export interface Prepared {
  spec: CallSpec;
  signal: AbortSignal | undefined;
  headers: HeadersInit | undefined;
}

/** A request to prepare; `progress` asks the server for progress notifications. */
export interface Wanted {
  method: string;
  params: Record<string, unknown>;
  options: CallOptions | undefined;
  progress: boolean;
}

/** Checks a request and writes its JSON. Throws {@link ConfigError}; nothing has happened then. */
export function prepare(wanted: Wanted, settings: Pick<Settings, "callMs">): Prepared {
  const { method, progress } = wanted;
  const options = group("options", wanted.options, known) as CallOptions;
  const { params, meta } = split(wanted.params);
  const name = method === "tools/call" ? wanted.params.name : undefined;
  const tool = typeof name === "string" ? { tool: name } : {};
  const { signal, idempotent } = options;
  if (signal !== undefined && typeof signal?.addEventListener !== "function") {
    throw new ConfigError("signal", "signal must be an AbortSignal");
  }
  if (idempotent !== undefined && typeof idempotent !== "boolean") {
    throw new ConfigError("idempotent", "idempotent must be true or false");
  }
  return {
    spec: {
      method: checkedMethod(method),
      params,
      meta,
      progress,
      ...tool,
      ...(idempotent === undefined ? {} : { idempotent }),
      ...clocks(options, tool.tool, settings),
    },
    signal,
    headers: usableHeaders("headers", options.headers),
  };
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

function split(given: Record<string, unknown>): { params: string; meta: string } {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new ConfigError("params", "params must be an object");
  }
  const { _meta: meta, ...params } = given;
  if (meta === undefined) return { params: jsonObject("params", params), meta: "{}" };
  const text = jsonObject("params._meta", meta as object);
  if ((meta as { progressToken?: unknown }).progressToken !== undefined) {
    throw new ConfigError(
      "params._meta.progressToken",
      "params._meta.progressToken is set by landfall itself",
    );
  }
  return { params: jsonObject("params", params), meta: text };
}
