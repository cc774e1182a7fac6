// Compiles only while the types of the package equal those of ../../fixtures/api.d.ts, but for what comes later.
import type * as Ours from "../../../target/npm/index.js";
import type * as Api from "../../fixtures/api.js";

type Keys<T> = T extends unknown ? keyof T : never;
type Both<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
/** Assignable both ways, with the same members, for an optional member may lack on either side and still be so. */
type Same<A, B> = Both<A, B> extends true ? Both<Keys<A>, Keys<B>> : false;
/** The same, and so is each member. */
type Equal<A, B> =
  Same<A, B> extends true ? { [K in keyof A & keyof B]: Same<A[K], B[K]> }[keyof A & keyof B] : false;
type Event<T, Type> = Extract<T, { type: Type }>;
type EventTypes = Ours.CallEvent["type"];

type LaterOptions =
  | ("replay" | "callKey" | "onGap" | "isGap" | "onSessionLost" | "tasks" | "listen" | "authProvider")
  | ("store" | "storeKey" | "redirectPolicy" | "reconnectionOptions" | "reconnectionScheduler")
  | ("onInsufficientScope" | "maxStepUpRetries" | "skipIssuerMetadataValidation" | "onUnknown" | "state");
type LaterEras = "modern" | "sse";
type LaterCallOptions = "onGap" | "resumptionToken" | "onresumptiontoken";
type LaterSession = "task" | "pending" | "resume" | "metrics" | "exportState";

type Options = Omit<Api.ConnectOptions, LaterOptions | "era" | "retry" | "limits"> & {
  era?: Exclude<NonNullable<Api.ConnectOptions["era"]>, LaterEras>;
  retry?: Omit<NonNullable<Api.ConnectOptions["retry"]>, "maxReissues">;
  limits?: Omit<NonNullable<Api.ConnectOptions["limits"]>, "maxPending">;
};
type CallOptions = Omit<Api.CallOptions, LaterCallOptions>;
type Session = Omit<Api.Session, LaterSession | "callTool" | "request" | "listTools"> & {
  callTool(name: string, args?: Record<string, unknown>, options?: CallOptions): Api.ToolCall;
  request(method: string, params?: Record<string, unknown>, options?: CallOptions): Api.ToolCall;
  listTools(options?: CallOptions): ReturnType<Api.Session["listTools"]>;
};

type Address = Parameters<typeof Api.connect>[0];

type Checks = {
  JsonRpcNotification: Equal<Ours.JsonRpcNotification, Api.JsonRpcNotification>;
  JsonRpcError: Equal<Ours.JsonRpcError, Api.JsonRpcError>;
  FailureReason: Both<Ours.FailureReason, Api.FailureReason>;
  Outcome: Both<Ours.Outcome, Api.Outcome>;
  ToolCallFailed: Equal<Ours.ToolCallFailed, Api.ToolCallFailed>;
  Level: Both<Ours.Level, Api.Level>;
  DropCause: Both<Ours.DropCause, Api.DropCause>;
  Attempt: Equal<Ours.Attempt, Api.Attempt>;
  CallDiagnostics: Equal<Ours.CallDiagnostics, Api.CallDiagnostics>;
  ToolCallFailedError: Equal<Ours.ToolCallFailedError, Api.ToolCallFailedError>;
  ServerError: Equal<Ours.ServerError, Api.ServerError>;
  ConfigError: Equal<Ours.ConfigError, Api.ConfigError>;
  CallEvent: { [T in EventTypes]: Equal<Event<Ours.CallEvent, T>, Event<Api.CallEvent, T>> }[EventTypes];
  everyCallEvent: Both<EventTypes, Api.CallEvent["type"]>;
  SessionEvent: Same<Ours.SessionEvent, Api.SessionEvent>;
  Era: Both<Ours.Era, Api.Era>;
  Timeouts: Equal<Ours.Timeouts, Api.Timeouts>;
  FetchLike: Same<Ours.FetchLike, Api.FetchLike>;
  ConnectOptions: Equal<Ours.ConnectOptions, Options>;
  CallOptions: Equal<Ours.CallOptions, CallOptions>;
  connect: Both<typeof Ours.connect, (url: Address, options?: Options) => Promise<Session>>;
  ToolCall: Equal<Ours.ToolCall, Api.ToolCall>;
  Session: Equal<Ours.Session, Session>;
};

// Each name that is not equal is an error here that names it.
export const checks: { [Name in keyof Checks]: true } = {} as Checks;

// A later member is not declared yet: the day it is, it leaves the lists above.
type NotYet = {
  options: Extract<keyof Ours.ConnectOptions, LaterOptions>;
  call: Extract<keyof Ours.CallOptions, LaterCallOptions>;
  session: Extract<keyof Ours.Session, LaterSession>;
};
export const notYet: { [Kind in keyof NotYet]: [NotYet[Kind]] extends [never] ? true : false } = {
  options: true,
  call: true,
  session: true,
};
