// Whoever is measured, behind one shape: `stream(how)` makes a call and gives the number of the notifications that
// came before its answer, `call()` one that is answered in JSON, `hold(set)` one that stays open.

const INITIALIZE = {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "bench", version: "1.0.0" },
};
const request = (id, args) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name: "bench", arguments: args, _meta: { progressToken: id } },
});

/** The least there is: fetch, eventsource-parser, and JSON.parse of each event. */
function bare({ createParser, fetch = globalThis.fetch }) {
  return async (url) => {
    let ids = 0;
    let held = 0;
    const post = (args) => {
      ids += 1;
      return fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
        body: JSON.stringify(request(ids, args)),
      });
    };
    const read = async (response, onmessage) => {
      const parser = createParser({ onEvent: ({ data }) => onmessage(JSON.parse(data)) });
      const decoder = new TextDecoder();
      const reader = response.body.getReader();
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        parser.feed(decoder.decode(part.value, { stream: true }));
      }
    };
    return {
      async stream(how) {
        let count = 0;
        await read(await post(how), (message) => {
          if (message.method !== undefined) count += 1;
        });
        return count;
      },
      call: async () => (await (await post({})).json()).result,
      async hold(set) {
        const response = await post({ set });
        return read(response, () => {
          held += 1;
        });
      },
      heldEvents: () => held,
      async close() {},
    };
  };
}

/** A transport without a Client: what a Client does with it, one step at a time. */
function transport(create) {
  return async (url) => {
    const under = await create(new URL(url));
    const driven = drive(under);
    await under.start();
    await shakeHands(under, driven);
    return driven;
  };
}

/** The transport of a client that keeps it to itself, once that has shaken hands. */
function transportOf(createClient) {
  return async (url) => drive((await createClient(new URL(url))).transport);
}

async function shakeHands(under, { send }) {
  const { protocolVersion } = await send({ jsonrpc: "2.0", id: 0, method: "initialize", params: INITIALIZE });
  under.setProtocolVersion?.(protocolVersion);
  await under.send({ jsonrpc: "2.0", method: "notifications/initialized" });
}

function drive(under) {
  const waiting = new Map();
  let ids = 1_000;
  let count = 0;
  const send = (message) =>
    new Promise((resolve, reject) => {
      waiting.set(message.id, resolve);
      under.send(message).catch(reject);
    });
  const call = (args) => {
    ids += 1;
    return send(request(ids, args));
  };
  under.onmessage = (message) => {
    if (message.method !== undefined) {
      count += 1;
      return;
    }
    const resolve = waiting.get(message.id);
    waiting.delete(message.id);
    resolve?.(message.result);
  };
  // An error that is no call's would be lost in what is measured: it ends the run.
  under.onerror = (error) => queueMicrotask(() => Promise.reject(error));
  return {
    send,
    async stream(how) {
      const before = count;
      await call(how);
      return count - before;
    },
    call: () => call({}),
    hold: (set) => call({ set }),
    heldEvents: () => count,
    async close() {
      under.onerror = undefined;
      await under.close();
    },
  };
}

/** Our own client. */
function alone(connect) {
  return async (url) => {
    const session = await connect(url);
    return {
      async stream(how) {
        let count = 0;
        for await (const { type } of session.callTool("bench", how)) {
          if (type === "message" || type === "progress") count += 1;
        }
        return count;
      },
      call: () => session.callTool("bench", {}).result,
      close: () => session.close(),
    };
  };
}

// The others know no such bound: by the default most of 1,000 calls would wait.
const limits = { maxConcurrent: 1_100 };

// By itself it calls the runtime's fetch as a method of its own and forbids redirects, which Workers refuse.
const AI_SDK = { type: "http", redirect: "follow", fetch: (...args) => fetch(...args) };

/** All of them by name, made of what their packages export; with a `fetch` they use that. */
export function makersOf(packages, more = {}) {
  const { createParser, connect, LandfallTransport, TransportV1, TransportV2, createMCPClient } = packages;
  return {
    landfall: transport((url) => new LandfallTransport(url, { limits, ...more })),
    "landfall alone": alone((url) => connect(url, more)),
    bare: bare({ createParser, ...more }),
    sdk: transport((url) => new TransportV2(url, more)),
    "sdk 1": transport((url) => new TransportV1(url, more)),
    ai: transportOf((url) => createMCPClient({ transport: { ...AI_SDK, url: url.href, ...more } })),
  };
}
