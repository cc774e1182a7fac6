// Requests of the server's in the middle of a call: the Client answers them while the call goes on, whatever stream
// they came by.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { clients } from "./clients/all.mjs";
import { serveEra } from "./server.mjs";
import { createTransport, ours } from "./transports.mjs";
import { until } from "./until.mjs";

const ASKS = {
  "elicitation/create": { message: "Who?", requestedSchema: { type: "object", properties: {} } },
  "sampling/createMessage": { messages: [], maxTokens: 10 },
  "roots/list": {},
};
const ANSWERS = {
  "elicitation/create": { action: "accept", content: {} },
  "sampling/createMessage": { model: "m", role: "assistant", content: { type: "text", text: "hi" } },
  "roots/list": { roots: [] },
};
const CAPABILITIES = { elicitation: {}, sampling: {}, roots: {} };

/** A session of `client` whose answers take `ms`, with a server of its own. */
async function stage(client, { ms = 50, faults, ...options } = {}) {
  const server = await serveEra("legacy", faults);
  const methods = client.hasTimer ? Object.keys(ASKS) : ["elicitation/create"];
  const answer = (method) => [method, () => sleep(ms, ANSWERS[method])];
  const session = await client.open(createTransport(client, server.url, options), {
    capabilities: client.hasTimer ? CAPABILITIES : { elicitation: {} },
    answers: Object.fromEntries(methods.map(answer)),
  });
  await until(() => server.log.some(({ method }) => method === "GET"));
  const asks = methods.map((method) => ({ ask: { method, params: ASKS[method] } }));
  const close = async () => {
    await session.close();
    await server.close();
  };
  return { server, session, methods, asks, close };
}

for (const client of clients.filter(({ era }) => era === "legacy")) {
  describe(client.name, { concurrency: true }, () => {
    for (const [stream, post] of Object.entries({
      "the stream of the call": undefined,
      "the standing stream": { accepted202: true },
    })) {
      test(`asked on ${stream}`, async () => {
        const { session, methods, asks, close } = await stage(client);
        const result = await session.call("scripted", { key: "asks", steps: asks, post });
        assert.equal(result.structuredContent.answers.length, methods.length);
        for (const [i, method] of methods.entries()) {
          assert.deepEqual(result.structuredContent.answers[i], ANSWERS[method]);
        }
        await close();
      });
    }

    test("asked what nobody here answers, it says so", async () => {
      const { session, close } = await stage(client);
      const steps = [{ ask: { method: "unheard/of", params: {} } }];
      const { structuredContent } = await session.call("scripted", { key: "unheard", steps });
      assert.equal(structuredContent.answers[0].error.code, -32601);
      await close();
    });

    test("an answer that got lost is posted again while the call lives", ours, async () => {
      const faults = { response: { cutBeforeHeaders: "rst", times: 1 } };
      const { session, asks, server, close } = await stage(client, { faults });
      const result = await session.call("scripted", { key: "again", steps: asks.slice(0, 1) });
      assert.equal(result.structuredContent.answers.length, 1);
      assert.equal(server.executions("again"), 1);
      await close();
    });

    test("the clocks of a call rest while its server waits for us", ours, async () => {
      const timeouts = { callMs: 600, recoveryMs: 700 };
      const { session, asks, close } = await stage(client, { ms: 1_500, timeouts });
      await session.call("scripted", { key: "patient", steps: asks.slice(0, 1) });
      await close();
    });

    test("asked in the time of a cut, it answers in the same session", ours, async () => {
      const { session, asks, close } = await stage(client, { ms: 300 });
      const steps = [{ prime: true }, { message: "working" }, { wait: 100 }, { cut: "rst" }, ...asks];
      const result = await session.call("scripted", { key: "cut", steps });
      assert.equal(result.structuredContent.answers.length, asks.length);
      await close();
    });
  });
}
