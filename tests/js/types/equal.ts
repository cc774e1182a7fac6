// Compiles only while the types of the package equal those of ../../fixtures/api.d.ts, but for what comes later.
import type * as Ours from "../../../target/npm/entry/index.js";
import type * as Api from "../../fixtures/api.js";

type Keys<T> = T extends unknown ? keyof T : never;
type Both<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
/** Assignable both ways, with the same members, for an optional member may lack on either side and still be so. */
type Same<A, B> = Both<A, B> extends true ? Both<Keys<A>, Keys<B>> : false;
/** The same, and so is each member. */
type Equal<A, B> =
  Same<A, B> extends true ? { [K in keyof A & keyof B]: Same<A[K], B[K]> }[keyof A & keyof B] : false;
/** Without what is private, by which no two classes are the same. */
type Public<T> = Pick<T, keyof T>;
type Made<T extends abstract new (...args: never) => unknown> = ConstructorParameters<T>;
type Event<T, Type> = Extract<T, { type: Type }>;
type EventTypes = Ours.CallEvent["type"];

type LaterOptions = "tasks" | "store" | "storeKey";
type LaterEras = "modern" | "sse";
type LaterSession = "task" | "pending" | "resume";

type Now<O extends { era?: unknown }> = Omit<O, LaterOptions | "era"> & {
  era?: Exclude<NonNullable<Api.TransportOptions["era"]>, LaterEras>;
};
type Options = Now<Api.ConnectOptions>;
type Session = Omit<Api.Session, LaterSession>;

type Address = Parameters<typeof Api.connect>[0];

type NewTransport = new (url: Address, options?: Now<Api.TransportOptions>) => unknown;

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
  CallInfo: Equal<Ours.CallInfo, Api.CallInfo>;
  Replay: Both<Ours.Replay, Api.Replay>;
  OnGap: Both<Ours.OnGap, Api.OnGap>;
  Histogram: Equal<Ours.Histogram, Api.Histogram>;
  Metrics: Equal<Ours.Metrics, Api.Metrics>;
  FetchLike: Same<Ours.FetchLike, Api.FetchLike>;
  Json: Both<Ours.Json, Api.Json>;
  AuthProvider: Equal<Ours.AuthProvider, Api.AuthProvider>;
  State: Same<Ours.State, Api.State>;
  TransportOptions: Equal<Ours.TransportOptions, Now<Api.TransportOptions>>;
  ConnectOptions: Equal<Ours.ConnectOptions, Options>;
  SendOptions: Equal<Ours.SendOptions, Api.SendOptions>;
  LandfallTransport: Equal<Public<Ours.LandfallTransport>, Public<Api.LandfallTransport>>;
  newLandfallTransport: Both<Made<typeof Ours.LandfallTransport>, Made<NewTransport>>;
  sdkRequestOptions: Both<typeof Ours.sdkRequestOptions, typeof Api.sdkRequestOptions>;
  CallOptions: Equal<Ours.CallOptions, Api.CallOptions>;
  connect: Both<typeof Ours.connect, (url: Address, options?: Options) => Promise<Session>>;
  ToolCall: Equal<Ours.ToolCall, Api.ToolCall>;
  Session: Equal<Ours.Session, Session>;
};

// Each name that is not equal is an error here that names it.
export const checks: { [Name in keyof Checks]: true } = {} as Checks;

// A later member is not declared yet: the day it is, it leaves the lists above.
type NotYet = {
  options: Extract<keyof Ours.ConnectOptions | keyof Ours.TransportOptions, LaterOptions>;
  session: Extract<keyof Ours.Session, LaterSession>;
};
export const notYet: { [Kind in keyof NotYet]: [NotYet[Kind]] extends [never] ? true : false } = {
  options: true,
  session: true,
};
