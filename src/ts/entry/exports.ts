// What every entry point exports besides its `connect` and its transport.

export { ConfigError, ServerError, ToolCallFailedError } from "../api/errors.js";
export type {
  AuthProvider,
  CallInfo,
  CallOptions,
  ConnectOptions,
  FetchLike,
  Json,
  OnGap,
  Replay,
  SendOptions,
  State,
  Timeouts,
  TransportOptions,
} from "../api/options.js";
export type {
  Attempt,
  CallDiagnostics,
  CallEvent,
  Connect,
  DropCause,
  Era,
  FailureReason,
  Histogram,
  JsonRpcError,
  JsonRpcNotification,
  Level,
  Metrics,
  Outcome,
  Session,
  SessionEvent,
  ToolCall,
  ToolCallFailed,
} from "../api/types.js";
export { type SdkRequestOptions, sdkRequestOptions } from "../sdk/request-options.js";
