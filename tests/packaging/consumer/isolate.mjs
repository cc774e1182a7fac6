// A Worker for the tests of many requests in one isolate: each path is one thing that a request does.
import "./instances.mjs";
import { connect, LandfallTransport } from "landfall";
import { carry } from "./call.mjs";

// One per isolate, so that a test sees that there was one.
const isolate = { requests: 0, kept: undefined, transport: undefined };

const initialize = {
  ...{ jsonrpc: "2.0", id: 0, method: "initialize" },
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "kept", version: "1" } },
};

const PATHS = {
  carry: ({ url, key }) => carry(connect, url, key),

  /** The module traps under a first call; the next one, on a fresh instance, is carried as ever. */
  async trap({ url, key }) {
    let instance;
    const fetchAndNote = (...request) => {
      // A session's first request leaves in the turn that made its instance, which no other request shares.
      instance ??= globalThis.instances.at(-1);
      return fetch(...request);
    };
    const trapping = async (address, options) => {
      const session = await connect(address, { ...options, fetch: fetchAndNote });
      const steps = [{ message: "open" }, { wait: 20 }, { message: "too late" }, { wait: 60_000 }];
      const lost = session.callTool("scripted", { key: `${key} trapped`, steps });
      for await (const { type } of lost) if (type === "message") break;
      const memory = Object.values(instance.exports).find((each) => each instanceof WebAssembly.Memory);
      new Uint8Array(memory.buffer).fill(0xff);
      const { reason } = await lost.result.catch((error) => error);
      if (reason !== "internal_error") throw new Error(`ended by ${reason}`);
      return session;
    };
    return { ...(await carry(trapping, url, key)), trapped: true };
  },

  /** Calls at once, whose headers are late and whose bodies stay open; the last one can't wait for its turn. */
  async many({ url, key }) {
    const session = await connect(url, { era: "resumable" });
    const call = (n, options) => {
      const args = { key: `${key} ${n}`, post: { delayMs: 300 }, steps: [{ wait: 900 }] };
      return session.callTool("scripted", args, options).result;
    };
    const calls = Array.from({ length: 16 }, (_, n) => call(n));
    calls.push(call("hurried", { timeouts: { deadlineMs: 200 } }));
    const ends = await Promise.allSettled(calls);
    await session.close();
    return ends.map(({ status, reason }) => (status === "fulfilled" ? "answered" : reason.reason));
  },

  async keep({ url, key }) {
    isolate.kept = await connect(url, { era: "resumable" });
    isolate.transport = new LandfallTransport(url);
    await isolate.transport.start();
    await isolate.transport.send(initialize);
    const result = await isolate.kept.callTool("scripted", { key }).result;
    return result.content[0].text;
  },

  /** Uses what another request has kept, in every way there is. */
  async useKept({ key }) {
    const told = [];
    const failing = (promise) =>
      promise.then(
        () => "worked",
        (error) => error,
      );
    const calls = [
      isolate.kept.callTool("scripted", { key }).result,
      isolate.kept.request("ping").result,
      isolate.kept.notify("notifications/roots/list_changed"),
      isolate.kept.listTools(),
      isolate.transport.send({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
      isolate.transport.terminateSession(),
    ];
    for (const call of calls) {
      const { name, reason, outcome, retrySafe, message } = await failing(call);
      told.push({ name, reason, outcome, retrySafe, message });
    }
    await isolate.kept.close();
    await isolate.transport.close();
    return told;
  },

  stateOfKept: () => isolate.kept.exportState(),

  /** Goes on elsewhere with a session that another request has kept. */
  async goOn({ url, key, state }) {
    const session = await connect(url, { era: "resumable", state: JSON.parse(state) });
    const result = await session.callTool("scripted", { key }).result;
    await session.close();
    return { text: result.content[0].text, sessionId: session.sessionId };
  },
};

export default {
  async fetch(request) {
    isolate.requests += 1;
    const { pathname, searchParams } = new URL(request.url);
    try {
      const did = await PATHS[pathname.slice(1)](Object.fromEntries(searchParams));
      return Response.json({ did, requests: isolate.requests });
    } catch (error) {
      return new Response(String(error?.stack ?? error), { status: 500 });
    }
  },
};
