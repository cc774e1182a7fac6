// How the SDKs' own errors are told: by marks on an error, so that none of them has to be imported.

import { ToolCallFailedError, tellsInJson } from "../api/errors.js";
import type { ToolCallFailed } from "../api/failure.js";
import type { ServerText } from "../base/server-text.js";
import { brand, hide } from "../base/thrown.js";
import { type Credentials, type Failure, plainUnauthorized } from "../http/credentials.js";

/** What an HTTP error of an SDK tells of a refusal. */
export interface Refusal {
  status: number;
  statusText: string;
  text?: string;
}

/** What was refused: a message, the resume of a stream, the end of a session, credentials. */
export type Refused = "message" | "stream" | "termination" | "credentials" | "scope";

/** The errors that a Client and its user expect of a transport. */
export interface SdkErrors {
  /** An HTTP refusal in the handshake, or of what is no call. */
  http(refused: Refused, message: string, refusal: Refusal, options: ErrorOptions): Error;
  /** A 2xx answer in the handshake that is none. */
  unexpected(message: string, options: ErrorOptions): Error;
  /** A call failed; with the refusal that did it. */
  failed(event: ToolCallFailed, refusal: Refusal | undefined, options: ErrorOptions): Error;
  /** There are no credentials that the server takes. */
  unauthorized(message?: string): Error;
  /** A 403 that asks for more scope, where it is one and the SDK has an error for it. */
  insufficientScope?(refusal: Response): Error | undefined;
}

// What `MCPClientError.isInstance` of @ai-sdk/mcp looks at.
const aiMark = Symbol.for("vercel.ai.error.AI_MCPClientError");

/** Marks an error as an outcome of authorization, which version negotiation passes on as it is. */
export function escaped<T>(error: T): T {
  if (typeof error === "object" && error !== null) hide(error, Symbol.for("mcp.authSeamEscape"), true);
  return error;
}

/** Gives an error what the HTTP errors of the SDKs have. Never `statusCode`: some clients call again at the sight of it. */
export function describeRefusal<T extends Error>(error: T, { status, statusText, text }: Refusal): T {
  hide(error, aiMark, true);
  const data = { status, statusText, ...(text === undefined ? {} : { text }) };
  return Object.assign(brand(error, "SdkError", "SdkHttpError"), { status, statusText, data });
}

/** A failed call, with the marks of an HTTP error where it was refused. */
export function failedCall(
  event: ToolCallFailed,
  refusal: Refusal | undefined,
  options: ErrorOptions,
): Error {
  return markRefused(new ToolCallFailedError(event, options), event, refusal);
}

/** Marks the error of a failed call by its refusal; `code` is there only where the server did not execute it. */
export function markRefused<T extends Error>(error: T, event: ToolCallFailed, refusal?: Refusal): T {
  if (refusal === undefined) return error;
  const code = event.outcome === "rejected" ? { code: refusal.status } : {};
  return Object.assign(describeRefusal(error, refusal), code);
}

/** The errors where no SDK is at hand. */
export const plainErrors: SdkErrors = {
  http(_refused, message, refusal, options) {
    const error = new Error(message, options);
    return Object.assign(describeRefusal(error, refusal), { code: refusal.status });
  },
  unexpected(message, options) {
    const error = brand(new Error(message, options), "SdkError");
    hide(error, aiMark, true);
    return Object.assign(error, { code: "CLIENT_HTTP_UNEXPECTED_CONTENT" });
  },
  failed: failedCall,
  unauthorized: plainUnauthorized,
};

/** What a failure is told by. */
export interface Failing {
  event: ToolCallFailed;
  failure: Failure;
  /** A message of the handshake, whose rejections an SDK judges. */
  isHandshake: boolean;
  credentials: Credentials | undefined;
  serverText: ServerText;
}

/** What `send()` rejects with. Whatever class an SDK expects, it tells why the call ended. */
export function rejection(errors: SdkErrors, failing: Failing): unknown {
  const { event, failure, isHandshake, serverText } = failing;
  const { thrown } = failure;
  const options = thrown === undefined ? {} : { cause: thrown };
  const refusal = refusalOf(event, failure);
  const because = () => ({ cause: errors.failed(event, refusal, options) });
  // The user's own error, or the SDK's: his `instanceof` knows it.
  if (failure.byProvider === true)
    return escaped(thrown instanceof Error ? hinted(thrown, event) : because().cause);
  const denied = deniedBy(errors, failing);
  if (denied !== undefined) {
    const { refused, message: text, status } = denied;
    const error = errors.http(refused, text, refusal ?? { status, statusText: "" }, because());
    return escaped(hide(explain(error, event), aiMark, true));
  }
  if (event.reason === "forbidden" && failure.refusal !== undefined) {
    const insufficient = errors.insufficientScope?.(failure.refusal);
    if (insufficient !== undefined) return escaped(explain(insufficient, event));
  }
  // Without its mark @ai-sdk/mcp 2 wraps an error in another; in the handshake it would mean a legacy server.
  if (!isHandshake) return hide(errors.failed(event, refusal, options), aiMark, true);
  if (refusal !== undefined) {
    const text = refusal.text === undefined ? event.message : serverText.fit(refusal.text);
    const error = errors.http("message", `Error POSTing to endpoint: ${text}`, refusal, because());
    return hide(explain(error, event), aiMark, true);
  }
  if (event.reason === "network_error" && thrown instanceof Error) return unreached(thrown, event);
  if (event.reason === "unexpected_content")
    return explain(errors.unexpected(event.message, because()), event);
  // This is what the SDKs' own transports throw for a body that is no JSON.
  if (event.reason === "malformed_response") return explain(new SyntaxError(event.message, because()), event);
  return because().cause;
}

/**
 * What there is to say of new credentials, or more scope, that were got and refused as well. An `UnauthorizedError` would
 * send the application to wait for a redirect that nobody began.
 */
function deniedBy(
  errors: SdkErrors,
  { event: { reason }, failure: { refusal }, credentials }: Failing,
): { refused: Refused; message: string; status: number } | undefined {
  if (credentials === undefined) return undefined;
  if (reason === "unauthorized")
    return { refused: "credentials", message: "Server returned 401 after re-authentication", status: 401 };
  const { asksForScope, maxStepUps } = credentials;
  if (reason !== "forbidden" || refusal === undefined || asksForScope !== true) return undefined;
  if (errors.insufficientScope?.(refusal) === undefined) return undefined;
  const limit = `(retry limit ${maxStepUps} reached)`;
  const message = `Server returned 403 insufficient_scope after step-up re-authorization ${limit}`;
  return { refused: "scope", message, status: 403 };
}

/** Why a call ended, as an error tells it that may be of any class. */
function reasonsOf({ reason, outcome, diagnostics: { hint } }: ToolCallFailed) {
  return { reason, outcome, ...(hint === undefined ? {} : { hint }) };
}

function explain<T extends Error>(error: T, event: ToolCallFailed): T {
  return tellsInJson(Object.assign(error, reasonsOf(event)));
}

/** The same of an error that is not ours: no dump of it shows more than its maker wanted. */
function hinted<T extends Error>(error: T, event: ToolCallFailed): T {
  for (const [key, value] of Object.entries(reasonsOf(event))) hide(error, key, value);
  return error;
}

/** A `fetch` that rejected in the handshake: the SDKs tell by its class whether the server is of an older kind. */
function unreached(thrown: Error, event: ToolCallFailed): Error {
  hinted(thrown, event);
  if (!(thrown instanceof TypeError)) return thrown;
  return explain(new TypeError(thrown.message, { cause: thrown }), event);
}

const refusals = new Set(["http_error", "unauthorized", "forbidden", "redirected", "session_lost"]);

/** The refusal that a failure tells of, if one does. */
export function refusalOf(event: ToolCallFailed, failure: Failure): Refusal | undefined {
  const status = failure.status ?? failure.refusal?.status;
  if (status === undefined || status < 300 || !refusals.has(event.reason)) return undefined;
  const { statusText = "" } = failure.refusal ?? {};
  return { status, statusText, ...(failure.body === undefined ? {} : { text: failure.body }) };
}
