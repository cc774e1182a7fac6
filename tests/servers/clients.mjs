// landfall's two ways in, behind one face: `connect`, and the transport in the Clients of both SDKs.
import { Client as ClientV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import {
  LoggingMessageNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { connect, ToolCallFailedError } from "../../target/npm/entry/index.js";
import { LandfallTransport as TransportV1 } from "../../target/npm/entry/v1.js";
import { LandfallTransport as TransportV2 } from "../../target/npm/entry/v2.js";

const INFO = { name: "landfall-servers", version: "1.0.0" };
/** Beyond what any scenario takes: not the Client's timer is to end a call, but the transport. */
const TIMEOUT_MS = 600_000;
const MESSAGE = "notifications/message";
const CHANGED = "notifications/tools/list_changed";

const session = {
  name: "connect",
  async open(url, { timeouts, onMessage, onChanged }) {
    const opened = await connect(url, {
      timeouts,
      onEvent({ type, message }) {
        if (type === "message" && message.method === MESSAGE) onMessage(message.params.data);
        if (type === "message" && message.method === CHANGED) onChanged();
      },
    });
    return {
      list: async () => (await opened.listTools()).map(({ name }) => name),
      async call(name, args, { onProgress, signal }) {
        const call = opened.callTool(name, args, { signal });
        for await (const event of call) if (event.type === "progress") onProgress(event.progress);
        return call.result;
      },
      close: () => opened.close(),
    };
  },
};

/** `onNotification` and `call` are where the two generations differ. */
const client = ({ name, newClient, Transport, onNotification, callTool }) => ({
  name,
  async open(url, { timeouts, onMessage, onChanged }) {
    const client = newClient();
    onNotification(client, MESSAGE, ({ params }) => onMessage(params.data));
    onNotification(client, CHANGED, () => onChanged());
    await client.connect(new Transport(new URL(url), { timeouts }));
    return {
      list: async () => (await client.listTools()).tools.map(({ name }) => name),
      call: (name, args, { onProgress, signal }) =>
        callTool(client, name, args, {
          signal,
          timeout: TIMEOUT_MS,
          onprogress: ({ progress }) => onProgress(progress),
        }),
      close: () => client.close(),
    };
  },
});

const SCHEMAS = { [MESSAGE]: LoggingMessageNotificationSchema, [CHANGED]: ToolListChangedNotificationSchema };

export const CLIENTS = [
  session,
  client({
    name: "SDK 1's Client",
    newClient: () => new ClientV1(INFO),
    Transport: TransportV1,
    onNotification: (client, method, handler) => client.setNotificationHandler(SCHEMAS[method], handler),
    callTool: (client, name, args, options) => client.callTool({ name, arguments: args }, undefined, options),
  }),
  client({
    name: "SDK 2's Client",
    newClient: () => new ClientV2(INFO),
    Transport: TransportV2,
    onNotification: (client, method, handler) => client.setNotificationHandler(method, handler),
    callTool: (client, name, args, options) => client.callTool({ name, arguments: args }, options),
  }),
];

/** How a call ended: `answer`, `tool error`, `cancelled`, or the reason of its failure. */
export async function outcomeOf(call, signal) {
  try {
    const { isError } = await call;
    return isError ? "tool error" : "answer";
  } catch (error) {
    if (error instanceof ToolCallFailedError || error.name === "ToolCallFailedError") return error.reason;
    return signal?.aborted ? "cancelled" : `${error.name}: ${error.message}`;
  }
}
