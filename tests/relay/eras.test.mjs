// Servers of other eras behind the relay: its clients notice nothing of it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createModernServer } from "../server/modern/server.mjs";
import { ERA_SERVERS } from "../servers/eras.mjs";
import { start } from "../servers/start.mjs";
import { Blocks, blocks, Clock, landfall, Raw, serveBefore, until } from "./stage.mjs";

for (const name of ["SDK 2, modern only", "HTTP+SSE of SDK 2"])
  test(`calls, questions and changes of ${name} pass`, async (t) => {
    const kind = ERA_SERVERS.find((each) => each.name === name);
    const server = await start(kind);
    const relay = await serveBefore(server.url);
    t.after(async () => {
      await relay.close();
      await server.stop();
    });
    const asked = [];
    const heard = [];
    const session = await landfall.connect(relay.url, {
      ...{ relay: true, capabilities: { elicitation: { form: {} } } },
      onEvent: (event) => heard.push(event),
      async onRequest({ method, params }) {
        asked.push([method, params.message]);
        return { action: "accept", content: { colour: "blue" } };
      },
    });
    assert.equal(session.era, "legacy");
    assert.equal(session.protocolVersion, "2025-11-25");
    assert.ok((await session.listTools()).some((tool) => tool.name === "count"));
    if (kind.era === "modern") await session.request("logging/setLevel", { level: "info" });
    const counted = session.callTool("count", { steps: 3, interval_ms: 20, key: "c" });
    const told = [];
    for await (const { type, progress, message } of counted)
      if (type === "progress" || type === "message") told.push(progress ?? message.params.data);
    // By HTTP+SSE all messages come on one stream, and these say of no call that they are its.
    const steps = [1, 2, 3].flatMap((step) => (kind.era === "modern" ? [step, `c: step ${step}`] : [step]));
    assert.deepEqual(told, steps);
    if (kind.asks) {
      const chosen = await session.callTool("choose", { key: "q" });
      assert.equal(chosen.content[0].text, "blue");
      assert.deepEqual(asked, [["elicitation/create", "Which colour?"]]);
    }
    await session.callTool("grow", { name: "branch" });
    const isChange = ({ message }) => message?.method === "notifications/tools/list_changed";
    await until(() => heard.some(isChange), "the change");
    const resting = session.callTool("rest", { key: "r" });
    await until(async () => (await server.counts("r")).ran === 1, "the run");
    resting.cancel();
    await until(async () => (await server.counts("r")).cancelled === 1, "the cancel");
    await session.close();
  });

test("a resource of a server without sessions is subscribed to, and told of, also after a quiet time", async (t) => {
  const server = await createModernServer();
  const clock = new Clock();
  const relay = await serveBefore(server.url, { clock });
  t.after(async () => {
    await relay.close();
    await server.close();
  });
  const raw = new Raw(relay.url);
  await raw.initialize();
  const ask = async (id, method) =>
    (await blocks(await raw.post({ jsonrpc: "2.0", id, method, params: { uri: "test://a" } }))).at(-1).data;
  assert.deepEqual((await ask(1, "resources/subscribe")).result, {});
  const updated = async () => {
    const reader = new Blocks(await raw.get());
    await until(() => server.subscriptions.count >= 2, "both subscriptions");
    server.subscriptions.updated("test://a");
    const { data } = await reader.message();
    await reader.cancel();
    return [data.method, data.params.uri];
  };
  const expected = ["notifications/resources/updated", "test://a"];
  assert.deepEqual(await updated(), expected);
  await until(() => /drops_total 1\n/.test(relay.register.metrics()), "the drop");
  await clock.pass(125_000);
  await until(() => server.subscriptions.count === 0, "quiet");
  assert.deepEqual(await updated(), expected);
  assert.deepEqual((await ask(2, "resources/unsubscribe")).result, {});
  await until(() => server.subscriptions.count === 1, "the end of one");
});
