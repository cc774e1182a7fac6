// What every entry point exports besides its `connect`.
export { ConfigError, ServerError, ToolCallFailedError } from "./errors.js";
export type {
  Attempt,
  CallDiagnostics,
  CallEvent,
  CallOptions,
  Connect,
  ConnectOptions,
  DropCause,
  Era,
  FailureReason,
  FetchLike,
  JsonRpcError,
  JsonRpcNotification,
  Level,
  Outcome,
  Session,
  SessionEvent,
  Timeouts,
  ToolCall,
  ToolCallFailed,
} from "./types.js";
