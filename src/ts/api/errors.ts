// The errors that callers see.

import type { JsonRpcError } from "./events.js";
import type { CallDiagnostics, FailureReason, Outcome, ToolCallFailed } from "./failure.js";

/**
 * A call that ended without an answer. Carries the fields of `event` as its own. Its `cause`, where there is one, is
 * what was thrown.
 */
export class ToolCallFailedError extends Error {
  /** @internal */
  static override readonly name = "ToolCallFailedError";
  /** The event that ended the call. Not enumerable: its fields are the error's own. */
  declare readonly event: ToolCallFailed;
  /** Why it ended. */
  readonly reason: FailureReason;
  /** What is known of its execution. */
  readonly outcome: Outcome;
  /** Making the call again can't execute it twice to harm. */
  readonly retrySafe: boolean;
  /** The id of the request, as the call has it. */
  readonly requestId: string | number;
  /** The JSON-RPC method. */
  readonly method: string;
  /** The tool's name, of a `tools/call`. */
  declare readonly tool?: string;
  /** The server's task, where the call became one. */
  declare readonly taskId?: string;
  /** What happened to it. */
  readonly diagnostics: CallDiagnostics;

  /** Made by landfall, from the event that ended a call. */
  constructor(event: ToolCallFailed, options?: ErrorOptions) {
    super(event.message, options);
    this.reason = event.reason;
    this.outcome = event.outcome;
    this.retrySafe = event.retrySafe;
    this.requestId = event.requestId;
    this.method = event.method;
    this.diagnostics = event.diagnostics;
    describeFailure(this, event);
  }
}

/** Gives an error all that a {@link ToolCallFailedError} has. */
export function describeFailure<T extends Error>(error: T, event: ToolCallFailed): T {
  nameOf(error, "ToolCallFailedError");
  Object.defineProperty(error, "event", { value: event });
  const { reason, outcome, retrySafe, requestId, method, tool, taskId, diagnostics } = event;
  return Object.assign(error, {
    ...{ message: event.message, reason, outcome, retrySafe, requestId, method },
    ...(tool === undefined ? {} : { tool }),
    ...(taskId === undefined ? {} : { taskId }),
    diagnostics,
  });
}

/** The server's own JSON-RPC error: an answer. Its message is the server's. */
export class ServerError extends Error {
  /** @internal */
  static override readonly name = "ServerError";
  /** The JSON-RPC code. */
  readonly code: number;
  /** What the server added. */
  declare readonly data?: unknown;
  /** The HTTP status of the response that carried it, where that was no 2xx. */
  declare readonly httpStatus?: number;

  /** Made by landfall, from the `error` of a response. */
  constructor(error: JsonRpcError, httpStatus?: number) {
    super(error.message);
    nameOf(this, "ServerError");
    this.code = error.code;
    if (error.data !== undefined) this.data = error.data;
    if (httpStatus !== undefined) this.httpStatus = httpStatus;
  }
}

/** Options or arguments that can't be used: they contradict each other, are out of range or not known. */
export class ConfigError extends TypeError {
  /** @internal */
  static override readonly name = "ConfigError";
  /** The option at fault, as in `limits.maxQueued`; clocks by their own name, as in `callMs`. */
  readonly option: string;

  /** Made by landfall; `message` names the option. */
  constructor(option: string, message: string, options?: ErrorOptions) {
    super(message, options);
    nameOf(this, "ConfigError");
    this.option = option;
  }
}

const markOf = (name: string) => Symbol.for(`landfall.${name}`);

// Each entry of the package is a copy of these classes, and an error may be an SDK's as well: they know theirs by a mark. A
// class that is made of one asks for itself.
for (const type of [ToolCallFailedError, ServerError, ConfigError]) {
  Object.defineProperty(type, Symbol.hasInstance, {
    value(this: object, value: unknown) {
      const isMarked = typeof value === "object" && value !== null && markOf(type.name) in value;
      return (isMarked && this === type) || Function.prototype[Symbol.hasInstance].call(this as never, value);
    },
  });
}

/** Sets `name` without making it a field that a dump of the error would list, and marks it as one of that class. */
function nameOf(error: Error, name: string): void {
  Object.defineProperty(error, markOf(name), { value: true });
  Object.defineProperty(error, "name", { value: name, configurable: true, writable: true });
  tellsInJson(error);
}

/** Gives an error its name and its message in JSON, where an error has but its fields. */
export function tellsInJson<T extends Error>(error: T): T {
  const toJSON = () => Object.assign({ name: error.name, message: error.message }, error);
  return Object.defineProperty(error, "toJSON", { value: toJSON, configurable: true, writable: true });
}
