// The clients under load. Each opens sessions, and makes a call: `{ outcome, reason, known, events, odd }`.
import { BEATS } from "./plan.mjs";

const numbered = (data) => Number(data.slice(data.lastIndexOf(" ") + 1));

/** Sees that what a call is told comes once, in order and whole, but for what is reported. */
function follower() {
  let next = 1;
  let isReported = false;
  const odd = [];
  return {
    odd,
    came(n) {
      if (n !== next && !isReported) odd.push(`${n} came, not ${next}`);
      next = n + 1;
    },
    /** The tool runs anew. */
    anew() {
      next = 1;
    },
    reported() {
      isReported = true;
    },
    ended() {
      if (next !== BEATS + 1 && !isReported) odd.push(`the answer came after ${next - 1} of ${BEATS}`);
    },
  };
}

export async function landfall() {
  const { connect, ServerError, ToolCallFailedError } = await import("../../target/npm/entry/index.js");
  const explain = (error) => {
    if (error instanceof ToolCallFailedError)
      return { outcome: "failed", reason: error.reason, known: error.outcome };
    if (error instanceof ServerError) return { outcome: "error", reason: String(error.code) };
    return { outcome: "failed", reason: error.name };
  };
  return {
    name: "landfall",
    async open(url, { timeouts, atOnce, isIdle = false }) {
      // One is kept for what is no call.
      const session = await connect(url, { timeouts, limits: { maxConcurrent: atOnce + 8 } });
      if (!isIdle) await session.listTools();
      return {
        async call({ tool, key, script }, heard) {
          const call = session.callTool(tool, { key, ...script });
          const { odd, ...follow } = follower();
          for await (const event of call) {
            if (event.type === "message") follow.came(numbered(event.message.params.data));
            else if (event.type === "progress") follow.came(event.progress);
            else if (event.type === "reissued") follow.anew();
            else if (event.type === "gap" || event.type === "event_skipped") follow.reported();
            if (event.type === "message" || event.type === "progress") heard();
          }
          const ended = await call.result.then(() => ({ outcome: "answer" }), explain);
          if (ended.outcome === "answer") follow.ended();
          return { ...ended, odd };
        },
        close: () => session.close(),
      };
    },
  };
}

/** The official client, version 2. Where its session is gone it does what an application has to do: it connects again. */
export async function official() {
  const { Client, ProtocolError, SdkError, SdkErrorCode, SdkHttpError, StreamableHTTPClientTransport } =
    await import("@modelcontextprotocol/client");
  const explain = (error) => {
    if (error instanceof SdkHttpError) return { outcome: "failed", reason: `HTTP ${error.status}` };
    if (error instanceof ProtocolError) return { outcome: "error", reason: String(error.code) };
    const isTimeout = error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout;
    return { outcome: "failed", reason: isTimeout ? "timeout" : (error.code ?? error.name) };
  };
  return {
    name: "official v2",
    async open(url, { timeouts: { callMs, deadlineMs } }) {
      const connected = async () => {
        const client = new Client({ name: "load", version: "1.0.0" });
        client.setNotificationHandler("notifications/message", () => heardOf());
        await client.connect(new StreamableHTTPClientTransport(new URL(url)));
        return client;
      };
      let heardOf = () => {};
      const clients = [connected()];
      await clients[0];
      return {
        async call({ tool, key, script }, heard) {
          heardOf = heard;
          const mine = clients.at(-1);
          const options = { timeout: callMs, maxTotalTimeout: deadlineMs, resetTimeoutOnProgress: true };
          try {
            const client = await mine;
            await client.callTool(
              { name: tool, arguments: { key, ...script } },
              { ...options, onprogress: heard },
            );
            return { outcome: "answer", odd: [] };
          } catch (error) {
            if (error instanceof SdkHttpError && error.status === 404 && mine === clients.at(-1))
              clients.push(connected());
            return { ...explain(error), odd: [] };
          }
        },
        close: async () => {
          await Promise.allSettled(clients.map(async (client) => (await client).close()));
        },
      };
    },
  };
}
