// A Client's messages as the core takes them.

import { ConfigError } from "../api/errors.js";
import type { SendOptions } from "../api/options.js";
import { isObject } from "../base/json.js";
import { textOf } from "../base/thrown.js";
import { jsonRpcError } from "../call/events.js";
import type { CallSpec } from "../core/protocol.js";
import type { Prepared } from "../options/call-spec.js";
import { readTimeouts, type Settings } from "../options/settings.js";
import { type ToolHeaders, versionMember } from "../session/tool-headers.js";
import { isName, type WireNames } from "./wire-names.js";

/** A JSON-RPC message of a Client's, as far as it is looked at. */
export interface ClientMessage {
  id?: string | number;
  method?: string;
  params?: Record<string, unknown>;
  result?: unknown;
  error?: unknown;
}

/** Whether an SDK judges how this message is refused. */
export function isHandshake(method: string): boolean {
  return method === "initialize" || method === "server/discover" || method === "notifications/initialized";
}

/** What a transport keeps, as far as a request needs it. */
interface Kept {
  settings: Settings;
  tools: ToolHeaders;
  names: WireNames;
}

/** A Client's request, under an id of ours. Throws {@link ConfigError} for what JSON can't carry. */
export function preparedRequest(
  message: ClientMessage & { id: string | number; method: string },
  options: SendOptions,
  { settings, tools, names }: Kept,
): Prepared & { wireId: string | number; isModern: boolean } {
  const { id, method, params = {} } = message;
  const asked: Record<string, unknown> = isObject(params._meta) ? params._meta : {};
  const name = method === "tools/call" ? params.name : undefined;
  const tool = typeof name === "string" ? name : undefined;
  const { progressToken, [versionMember]: version } = asked;
  const token = isName(progressToken) ? names.ofToken(progressToken) : progressToken;
  // In its place: what a body is signed or compared by may hang on the order of its keys.
  const sent = token === undefined ? params : { ...params, _meta: { ...asked, progressToken: token } };
  const isTimed = "resumptionToken" in options;
  const wireId = names.of(id);
  const { given, paramHeaders } = callHeaders(options);
  const spec: CallSpec = {
    method,
    params: message.params === undefined ? "" : json("params", sent),
    meta: "{}",
    id: json("id", wireId),
    handled: true,
    progress: token === undefined && wantsProgress(method, isTimed, settings),
    ...stream(options),
    ...toolClock(tool, settings),
  };
  const about: Prepared["about"] = { method };
  if (tool !== undefined) spec.tool = about.tool = tool;
  if (params.arguments !== undefined) about.arguments = params.arguments as Record<string, unknown>;
  if (token !== undefined) spec.token = json("params._meta.progressToken", token);
  if (paramHeaders !== undefined) spec.paramHeaders = paramHeaders;
  const declaredParams = name === undefined ? {} : tools.of(params);
  if (Object.keys(declaredParams).length > 0) spec.declaredParams = declaredParams;
  if (isTimed) spec.timed = true;
  return {
    id,
    wireId,
    isModern: typeof version === "string",
    spec,
    about,
    signals: signalsOf(options),
    headers: given === undefined ? undefined : { given },
    onToken: options.onresumptiontoken,
  };
}

/** The stream to resume by hand; whatever response comes on it ends it. */
export function resumption(lastEventId: string, onToken?: (token: string) => void): Prepared {
  const options = { resumptionToken: lastEventId, ...(onToken && { onresumptiontoken: onToken }) };
  return {
    spec: { method: "resume", params: "{}", meta: "{}", progress: false, handled: true, ...stream(options) },
    about: { method: "resume" },
    signals: [],
    headers: undefined,
    onToken,
  };
}

/** The text of what the Client says to the server, where it is no request; empty where there is nothing to say. */
export function paramsText(params: Record<string, unknown> | undefined): string {
  return params === undefined ? "" : json("params", params);
}

/** The Client's answer to a request of the server's. */
export function answerText(message: ClientMessage): string {
  const { jsonrpc } = message as { jsonrpc?: unknown };
  return json("message", jsonrpc === undefined ? { jsonrpc: "2.0", ...message } : message);
}

/** The signals by which the caller may end what he sent. */
export function signalsOf({ requestSignal, signal }: SendOptions): AbortSignal[] {
  return [requestSignal, signal].filter((each) => each !== undefined && each !== null);
}

/** Progress tells that a call lives; without a token of the Client's the wrapper keeps it to itself. */
function wantsProgress(method: string, isTimed: boolean, { hasCallMs, callMs }: Settings): boolean {
  if (isHandshake(method)) return false;
  const isTool = method === "tools/call";
  // Where the Client has no timer, `callMs` is in force by default.
  return hasCallMs ? isTool || callMs === undefined : isTool && !isTimed;
}

function stream({ resumptionToken, onresumptiontoken }: SendOptions) {
  const given: Pick<CallSpec, "resumptionToken" | "tokens"> = {};
  if (resumptionToken) given.resumptionToken = String(resumptionToken);
  if (typeof onresumptiontoken === "function") given.tokens = true;
  return given;
}

function toolClock(tool: string | undefined, { callMs }: Settings) {
  return callMs === undefined || tool === undefined ? {} : readTimeouts({ callMs }, tool, ["callMs"]);
}

// The connection's own, whatever the Client passes; `mcp-*` and others are left out later, with a warning.
const owned = new Set(["authorization", "dpop"]);

const paramPrefix = "mcp-param-";

/** What the Client gives for one message: headers as they are, and `Mcp-Param-*` by the names behind that. */
function callHeaders({ headers }: SendOptions) {
  if (headers === undefined) return {};
  const given: [string, string][] = [];
  const params: [string, string][] = [];
  for (const [name, value] of Object.entries(headers)) {
    const known = name.toLowerCase();
    if (known.startsWith(paramPrefix)) params.push([known.slice(paramPrefix.length), String(value)]);
    else if (!owned.has(known)) given.push([name, value]);
  }
  return {
    ...(given.length === 0 ? {} : { given }),
    ...(params.length === 0 ? {} : { paramHeaders: Object.fromEntries(params) }),
  };
}

function json(what: string, value: unknown): string {
  try {
    const text: string | undefined = JSON.stringify(value);
    if (text !== undefined) return text;
  } catch (thrown) {
    throw new ConfigError(what, `${what} can't be written as JSON: ${textOf(thrown)}`, { cause: thrown });
  }
  throw new ConfigError(what, `${what} is nothing that JSON can carry`);
}

/** The message by which a Client stops the handler of a request whose answer nobody waits for. */
export function cancelled(requestId: string | number): object {
  const params = { requestId, reason: "the call it was asked in has ended" };
  return { jsonrpc: "2.0", method: "notifications/cancelled", params };
}

/** The parameters without `_meta`. */
export function withoutMeta({ _meta, ...rest }: { _meta?: unknown }): object {
  return rest;
}

/** An answer as text; without what the server added to its error, where the engine can't write that. */
export function textOfAnswer({
  jsonrpc,
  id,
  error,
}: {
  jsonrpc?: unknown;
  id?: unknown;
  error?: unknown;
}): string {
  try {
    return JSON.stringify({ jsonrpc, id, error });
  } catch {
    const { code, message } = jsonRpcError(error);
    return JSON.stringify({ jsonrpc, id, error: { code, message } });
  }
}
