// What every entry point exports besides its `connect` and its transport.

export { ConfigError, ServerError, ToolCallFailedError } from "./errors.js";
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
} from "./options.js";
export { type SdkRequestOptions, sdkRequestOptions } from "./sdk-options.js";
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
} from "./types.js";
