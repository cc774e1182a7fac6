// What a Client relies on beyond calls that are answered: tokens to resume by, headers, subscriptions, its own timer.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { PlainClient, readEvents } from "../server/plain-client.mjs";
import { cases } from "./cases.mjs";
import { aiSdk2Modern, clients, sdkV1, sdkV2Auto, sdkV2Legacy, sdkV2Modern } from "./clients/all.mjs";
import { Stage } from "./stage.mjs";
import { createTransport, ours } from "./transports.mjs";
import { until } from "./until.mjs";

const resumes = ({ log }) => log.filter(({ method, lastEventId }) => method === "GET" && lastEventId);

/** What a call's answer came together with is told by no token: nobody resumes a call that is answered. */
const APART_MS = 500;

const { it, runFor } = cases();
it("resumption tokens go on after a resume", async (client, stage) => {
  const server = await stage.serve("legacy");
  const session = await stage.open(client, server);
  const tokens = [];
  const steps = [{ message: "one" }, { wait: 100 }, { cut: "rst" }, { awaitResume: true }];
  await session.call(
    "scripted",
    {
      key: "tokens",
      steps: [...steps, { message: "two" }, { message: "three" }, { wait: APART_MS }],
    },
    { onresumptiontoken: (token) => tokens.push(token) },
  );
  const ids = tokens.map((token) => token.split("/")[1]);
  assert.deepEqual(ids.slice(0, 3), ["1", "2", "3"]);
  assert.equal(new Set(ids).size, ids.length);
});

/** A call that another client began, and a Client in its session that has the token to take it up. */
async function inherited(client, stage, rest) {
  const server = await stage.serve("legacy");
  const plain = await PlainClient.open(server.url);
  const steps = [{ prime: true }, { message: "a" }, { close: true }, ...rest];
  const { events } = await readEvents(await plain.script("inherited", steps));
  const transport = createTransport(client, server.url, {
    sessionId: plain.session,
    protocolVersion: "2025-11-25",
  });
  transport.setProtocolVersion("2025-11-25");
  const session = stage.keep(await client.open(transport));
  const before = server.log.length;
  const options = { resumptionToken: events.at(-1).id };
  const call = (more) => session.call("scripted", { key: "new", steps: [] }, { ...options, ...more });
  return { server, call, since: () => server.log.slice(before) };
}

it("a call with a resumption token is the call of before, under a new id", async (client, stage) => {
  const { server, call, since } = await inherited(client, stage, [{ message: "b" }]);
  const { structuredContent } = await call();
  assert.equal(structuredContent.key, "inherited");
  assert.equal(server.executions("new"), 0);
  assert.equal(
    since().some(({ rpc }) => rpc === "initialize" || rpc === "tools/call"),
    false,
  );
});

it("a call with a resumption token tells of the tokens that come after it", ours, async (client, stage) => {
  const { call } = await inherited(client, stage, [
    { message: "b" },
    { awaitResume: true },
    { message: "c" },
    { wait: APART_MS },
  ]);
  const tokens = [];
  await call({ onresumptiontoken: (token) => tokens.push(token.split("/")[1]) });
  assert.deepEqual(tokens.slice(0, 2), ["3", "4"]);
});

it("a cancel with a resumption token is a cancel, and no resume", ours, async (client, stage) => {
  const { call, since } = await inherited(client, stage, [{ wait: 60_000 }]);
  const controller = new AbortController();
  const calling = call({ signal: controller.signal });
  await until(() => since().some(({ lastEventId }) => lastEventId));
  controller.abort(new Error("enough"));
  await assert.rejects(calling);
  await until(() => since().some(({ rpc }) => rpc === "notifications/cancelled"));
  await sleep(500);
  assert.equal(since().filter(({ lastEventId }) => lastEventId).length, 1);
});

it("`reconnectionOptions` without retries resume nothing", ours, async (client, stage) => {
  const server = await stage.serve("legacy");
  const reconnectionOptions = {
    initialReconnectionDelay: 100,
    maxReconnectionDelay: 200,
    reconnectionDelayGrowFactor: 1,
    maxRetries: 0,
  };
  const session = await stage.open(client, server, { reconnectionOptions });
  const steps = [{ prime: true }, { wait: 100 }, { cut: "rst" }];
  await assert.rejects(session.call("scripted", { key: "once", steps }), {
    name: "ToolCallFailedError",
  });
  assert.deepEqual(resumes(server), []);
});

runFor([sdkV1, sdkV2Legacy], "the legacy era");

test("the entry that names no SDK carries the clients of each", ours, async (t) => {
  const stage = new Stage(t);
  const server = await stage.serve("legacy");
  for (const client of [sdkV1, sdkV2Legacy, sdkV2Auto]) {
    const session = await stage.open({ ...client, entry: "." }, server);
    const steps = [{ prime: true }, { wait: 100 }, { cut: "rst" }, { awaitResume: true }];
    const { structuredContent } = await session.call("scripted", { key: client.name, steps });
    assert.equal(structuredContent.execution, 1);
  }
});

const every = cases();
every.it("two transports in one process do not mix", async (client, stage) => {
  const server = await stage.serve(client.era);
  const open = () => stage.open(client, server);
  const sessions = await Promise.all([open(), open()]);
  const keys = ["left", "right"];
  const resumable = client.era === "legacy" && client.hasTimer ? [{ close: true, retry: 50 }] : [];
  const results = await Promise.all(
    sessions.map((session, i) => {
      const result = { resultType: "complete", content: [{ type: "text", text: keys[i] }] };
      const steps = [{ prime: true }, { wait: 100 }, ...resumable, { wait: 100 }, { result }];
      return session.call("scripted", { key: keys[i], steps });
    }),
  );
  assert.deepEqual(
    results.map(({ content }) => content[0].text),
    keys,
  );
  await sessions[0].close();
  const more = server.steps([]);
  await sessions[1].call("scripted", { key: "still there", steps: more });
});
every.runFor(clients, "every client");

const modern = cases();
modern.it(
  "an argument that belongs into a header is there, as is what the body says",
  async (client, stage) => {
    const server = await stage.serve("modern");
    const seen = [];
    const fetch = (url, init) => {
      seen.push(new Headers(init.headers));
      return globalThis.fetch(url, init);
    };
    const session = await stage.open(client, server, { fetch });
    await session.list();
    await session.call("scripted", { key: "region", steps: server.steps([]), region: "Zürich" });
    const headers = seen.find((each) => each.get("mcp-method") === "tools/call");
    assert.equal(headers.get("mcp-name"), "scripted");
    assert.equal(headers.get("mcp-protocol-version"), "2026-07-28");
    assert.equal(headers.get("mcp-param-region"), `=?base64?${btoa("Z\xc3\xbcrich")}?=`);
  },
);
modern.runFor([sdkV2Modern, aiSdk2Modern], "the modern era");

test(
  "a subscription outlives the streams that carry it, and is acknowledged to the client once",
  ours,
  async (t) => {
    const stage = new Stage(t);
    const server = await stage.serve("modern");
    const errors = [];
    let changes = 0;
    const onChanged = () => {
      changes += 1;
    };
    const session = await stage.open(
      sdkV2Modern,
      server,
      {},
      {
        listChanged: { tools: { onChanged, autoRefresh: false, debounceMs: 0 } },
        onerror: (error) => errors.push(error),
      },
    );
    let end;
    session.client.autoOpenedSubscription.closed.then((cause) => {
      end = cause;
    });
    const listens = () => server.log.filter(({ rpc }) => rpc === "subscriptions/listen");
    await until(() => listens().length >= 2 && changes >= 2);
    assert.equal(end, undefined);
    assert.deepEqual(errors, []);
    await session.client.autoOpenedSubscription.close();
    const { length } = listens();
    await sleep(1_500);
    assert.equal(listens().length, length);
    assert.equal(end, "local");
  },
);
