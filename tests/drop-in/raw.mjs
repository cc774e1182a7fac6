// A transport without a client: what a Client does with it, one step at a time.
import { until } from "./until.mjs";

const INITIALIZE = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "raw", version: "1.0.0" },
  },
};

/** Starts it and shakes hands; `received` and `errors` are what it calls back with. */
export async function openRaw(transport) {
  const received = [];
  const errors = [];
  let closes = 0;
  transport.onmessage = (message) => received.push(message);
  transport.onerror = (error) => errors.push(error);
  transport.onclose = () => {
    closes += 1;
  };
  await transport.start();
  await transport.send(INITIALIZE);
  await until(() => received.length > 0);
  transport.setProtocolVersion(received.pop().result.protocolVersion);
  await transport.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  return {
    transport,
    received,
    errors,
    closes: () => closes,
    texts: () => received.flatMap(({ params }) => params?.data ?? []),
    answerTo: (id) => received.find((message) => message.id === id && message.method === undefined),
  };
}

/** A call of `scripted`, as a Client of the legacy era sends it. */
export const callOf = (id, key, steps, more = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name: "scripted", arguments: { key, steps, ...more } },
});
