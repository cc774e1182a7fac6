// Requests of the server's in the middle of a call: the Client answers them while the call goes on, whatever stream
// they came by.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { cases } from "./cases.mjs";
import { clients } from "./clients/all.mjs";
import { ours } from "./transports.mjs";
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
async function begin(client, stage, { ms = 50, faults, ...options } = {}) {
  const server = await stage.serve("legacy", faults);
  const methods = client.hasTimer ? Object.keys(ASKS) : ["elicitation/create"];
  const answer = (method) => [method, () => sleep(ms, ANSWERS[method])];
  const session = await stage.open(client, server, options, {
    capabilities: client.hasTimer ? CAPABILITIES : { elicitation: {} },
    answers: Object.fromEntries(methods.map(answer)),
  });
  await until(() => server.log.some(({ method }) => method === "GET"));
  const asks = methods.map((method) => ({ ask: { method, params: ASKS[method] } }));
  return { server, session, methods, asks };
}

const { it, runFor } = cases();
for (const [stream, post] of Object.entries({
  "the stream of the call": undefined,
  "the standing stream": { accepted202: true },
})) {
  it(`asked on ${stream}`, async (client, stage) => {
    const { session, methods, asks } = await begin(client, stage);
    const result = await session.call("scripted", { key: "asks", steps: asks, post });
    assert.equal(result.structuredContent.answers.length, methods.length);
    for (const [i, method] of methods.entries()) {
      assert.deepEqual(result.structuredContent.answers[i], ANSWERS[method]);
    }
  });
}

it("asked what nobody here answers, it says so", async (client, stage) => {
  const { session } = await begin(client, stage);
  const steps = [{ ask: { method: "unheard/of", params: {} } }];
  const { structuredContent } = await session.call("scripted", { key: "unheard", steps });
  assert.equal(structuredContent.answers[0].error.code, -32601);
});

it("an answer that got lost is posted again while the call lives", ours, async (client, stage) => {
  const faults = { response: { cutBeforeHeaders: "rst", times: 1 } };
  const { session, methods, asks, server } = await begin(client, stage, { faults });
  const result = await session.call("scripted", { key: "again", steps: asks.slice(0, 1) });
  assert.deepEqual(result.structuredContent.answers, [ANSWERS[methods[0]]]);
  assert.equal(server.executions("again"), 1);
});

it("asked in the time of a cut, it answers in the same session", ours, async (client, stage) => {
  const { session, asks } = await begin(client, stage, { ms: 300 });
  const steps = [{ prime: true }, { message: "working" }, { wait: 100 }, { cut: "rst" }, ...asks];
  const result = await session.call("scripted", { key: "cut", steps });
  assert.equal(result.structuredContent.answers.length, asks.length);
});
runFor(clients.filter(({ era }) => era === "legacy"));
