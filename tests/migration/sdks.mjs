// The two generations of the SDK behind one face, so that each program is written once.
import { Client as ClientV2, UnauthorizedError as UnauthorizedErrorV2 } from "@modelcontextprotocol/client";
import { UnauthorizedError as UnauthorizedErrorV1 } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";

const INFO = { name: "landfall-migration", version: "1.0.0" };
const SCHEMAS = {
  "elicitation/create": ElicitRequestSchema,
  "sampling/createMessage": CreateMessageRequestSchema,
  "roots/list": ListRootsRequestSchema,
  "notifications/message": LoggingMessageNotificationSchema,
  "notifications/tools/list_changed": ToolListChangedNotificationSchema,
};

/** A client that hears of changed tools, as one of a session does: by a notification that belongs to no call. */
function listeningClient(sdk, changed) {
  const client = sdk.newClient({});
  sdk.onNotification(client, "notifications/tools/list_changed", changed);
  return client;
}

const v1 = {
  name: "SDK 1",
  sdk: "v1",
  speaksModern: false,
  UnauthorizedError: UnauthorizedErrorV1,
  newClient: (options) => new ClientV1(INFO, options),
  newListeningClient: (changed) => listeningClient(v1, changed),
  onRequest: (client, method, handler) => client.setRequestHandler(SCHEMAS[method], handler),
  onNotification: (client, method, handler) => client.setNotificationHandler(SCHEMAS[method], handler),
  callTool: (client, name, args, options) => client.callTool({ name, arguments: args }, undefined, options),
};

function v2(mode) {
  const sdk = {
    name: `SDK 2, ${mode.pin ? `pinned to ${mode.pin}` : mode}`,
    sdk: "v2",
    speaksModern: mode !== "legacy",
    needsModern: mode.pin !== undefined,
    UnauthorizedError: UnauthorizedErrorV2,
    newClient: (options) => new ClientV2(INFO, { ...options, versionNegotiation: { mode } }),
    /** At 2026-07-28 the Client has to subscribe, which it does by itself where it is told of handlers. */
    newListeningClient: (changed) =>
      sdk.speaksModern
        ? sdk.newClient({ listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: changed } } })
        : listeningClient(sdk, changed),
    onRequest: (client, method, handler) => client.setRequestHandler(method, handler),
    onNotification: (client, method, handler) => client.setNotificationHandler(method, handler),
    callTool: (client, name, args, options) => client.callTool({ name, arguments: args }, options),
  };
  return sdk;
}

export const SDKS = [v1, v2("legacy"), v2("auto"), v2({ pin: "2026-07-28" })];
