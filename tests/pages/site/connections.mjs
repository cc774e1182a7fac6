// One session with many calls at once.
import { connect } from "/npm/entry/index.js";

let session;
let calls = [];

/** Begins a call for each key. */
globalThis.beginCalls = async ({ url, keys, steps, options }) => {
  session = await connect(url, { era: "resumable", ...options });
  calls = keys.map((key) => session.callTool("scripted", { key, steps }));
};

globalThis.ping = () => session.request("ping").result;

/** What came of each call: how often its tool ran, or why it failed. */
globalThis.endCalls = async () => {
  const ended = await Promise.allSettled(calls.map(({ result }) => result));
  await session.close();
  return ended.map(({ value, reason }) => value?.structuredContent.execution ?? String(reason));
};
