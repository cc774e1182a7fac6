// What every entry point exports besides its `connect` and its transport.

export { ConfigError, ServerError, ToolCallFailedError } from "../api/errors.js";
export type { CallEvent, JsonRpcError, JsonRpcNotification, SessionEvent } from "../api/events.js";
export type {
  Attempt,
  CallDiagnostics,
  DropCause,
  Era,
  FailureReason,
  Level,
  Outcome,
  ToolCallFailed,
} from "../api/failure.js";
export type { Histogram, Metrics } from "../api/metrics.js";
export type {
  AuthProvider,
  CallInfo,
  CallOptions,
  ConnectOptions,
  FetchLike,
  HeadersLike,
  Json,
  OnGap,
  Replay,
  SdkRequestOptions,
  SendOptions,
  State,
  Timeouts,
  TransportOptions,
} from "../api/options.js";
export type { Connect, Session, ToolCall } from "../api/session.js";
export { sdkRequestOptions } from "../sdk/request-options.js";
export type { ClientTransport } from "../sdk/transport.js";
