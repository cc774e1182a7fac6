// What a Client relies on beyond calls that are answered: tokens to resume by, headers, subscriptions, its own timer.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { PlainClient, readEvents } from "../server/plain-client.mjs";
import { cases } from "./cases.mjs";
import { aiSdk2Modern, clients, sdkV1, sdkV2Legacy, sdkV2Modern } from "./clients/all.mjs";
import { serveEra } from "./server.mjs";
import { createTransport, landfall, ours } from "./transports.mjs";
import { until } from "./until.mjs";

/** Runs a test with a server of its own. */
const on = (era, run) => async (client) => {
  const server = await serveEra(era);
  try {
    await run(server, client);
  } finally {
    await server.close();
  }
};
const resumes = ({ log }) => log.filter(({ method, lastEventId }) => method === "GET" && lastEventId);

const { it, runFor } = cases();
it(
  "resumption tokens go on after a resume",
  ours,
  on("legacy", async (server, client) => {
    const session = await client.open(createTransport(client, server.url));
    const tokens = [];
    const steps = [{ message: "one" }, { wait: 100 }, { cut: "rst" }, { awaitResume: true }];
    await session.call(
      "scripted",
      { key: "tokens", steps: [...steps, { message: "two" }, { wait: 100 }, { message: "three" }] },
      { onresumptiontoken: (token) => tokens.push(token) },
    );
    const ids = tokens.map((token) => token.split("/")[1]);
    // The answer has an id too; whether it is told of matters to nobody.
    assert.deepEqual(ids.slice(0, 3), ["1", "2", "3"]);
    assert.equal(new Set(ids).size, ids.length);
    await session.close();
  }),
);

/** A call that another client began, and a Client in its session that has the token to take it up. */
async function inherited(client, server, rest) {
  const plain = await PlainClient.open(server.url);
  const steps = [{ prime: true }, { message: "a" }, { close: true }, ...rest];
  const { events } = await readEvents(await plain.script("inherited", steps));
  const transport = createTransport(client, server.url, {
    sessionId: plain.session,
    protocolVersion: "2025-11-25",
  });
  transport.setProtocolVersion("2025-11-25");
  const session = await client.open(transport);
  const before = server.log.length;
  const options = { resumptionToken: events.at(-1).id };
  const call = (more) => session.call("scripted", { key: "new", steps: [] }, { ...options, ...more });
  return { call, session, since: () => server.log.slice(before) };
}

it(
  "a call with a resumption token is the call of before, under a new id",
  on("legacy", async (server, client) => {
    const { call, session, since } = await inherited(client, server, [{ message: "b" }]);
    const { structuredContent } = await call();
    assert.equal(structuredContent.key, "inherited");
    assert.equal(server.executions("new"), 0);
    assert.equal(
      since().some(({ rpc }) => rpc === "initialize" || rpc === "tools/call"),
      false,
    );
    await session.close();
  }),
);

it(
  "a cancel with a resumption token is a cancel, and no resume",
  ours,
  on("legacy", async (server, client) => {
    const { call, session, since } = await inherited(client, server, [{ wait: 60_000 }]);
    const controller = new AbortController();
    const calling = call({ signal: controller.signal });
    await until(() => since().some(({ lastEventId }) => lastEventId));
    controller.abort(new Error("enough"));
    await assert.rejects(calling);
    await until(() => since().some(({ rpc }) => rpc === "notifications/cancelled"));
    await sleep(500);
    assert.equal(since().filter(({ lastEventId }) => lastEventId).length, 1);
    await session.close();
  }),
);

it(
  "sdkRequestOptions lets landfall's clocks come first, and progress extend them",
  ours,
  on("legacy", async (server, client) => {
    const timeouts = { idleMs: 5_000, callMs: 800, recoveryMs: 900, deadlineMs: 4_000 };
    const session = await client.open(createTransport(client, server.url, { timeouts }));
    const options = landfall.sdkRequestOptions(timeouts);
    assert.ok(options.timeout > timeouts.deadlineMs && options.maxTotalTimeout >= options.timeout);
    assert.equal(options.resetTimeoutOnProgress, true);
    const silent = session.call("scripted", { key: "silent", steps: [{ noAnswer: true }] }, options);
    await assert.rejects(silent, { name: "ToolCallFailedError", reason: "call_timeout" });
    const steps = [1, 2, 3, 4].flatMap((progress) => [{ wait: 400 }, { progress }]);
    await session.call("scripted", { key: "busy", steps }, options);
    const endless = Array.from({ length: 30 }, (_, i) => [{ wait: 300 }, { progress: i }]).flat();
    const calling = session.call("scripted", { key: "endless", steps: endless }, options);
    await assert.rejects(calling, { reason: "deadline_exceeded" });
    await session.close();
  }),
);

it(
  "progress that only landfall asked for is not shown to the client",
  ours,
  on("legacy", async (server, client) => {
    const timeouts = { callMs: 800, recoveryMs: 2_000 };
    const errors = [];
    const onerror = (error) => errors.push(error);
    const session = await client.open(createTransport(client, server.url, { timeouts }), { onerror });
    const steps = [1, 2, 3, 4].flatMap((progress) => [{ wait: 400 }, { progress }]);
    await session.call("scripted", { key: "hidden", steps });
    assert.deepEqual(errors, []);
    await session.close();
  }),
);

it(
  "`reconnectionOptions` without retries resume nothing",
  ours,
  on("legacy", async (server, client) => {
    const reconnectionOptions = {
      initialReconnectionDelay: 100,
      maxReconnectionDelay: 200,
      reconnectionDelayGrowFactor: 1,
      maxRetries: 0,
    };
    const session = await client.open(createTransport(client, server.url, { reconnectionOptions }));
    const steps = [{ prime: true }, { wait: 100 }, { cut: "rst" }];
    await assert.rejects(session.call("scripted", { key: "once", steps }), {
      name: "ToolCallFailedError",
    });
    assert.deepEqual(resumes(server), []);
    await session.close();
  }),
);

runFor([sdkV1, sdkV2Legacy]);

for (const client of clients) {
  test(
    `two transports in one process do not mix: ${client.name}`,
    on(client.era, async (server) => {
      const open = () => client.open(createTransport(client, server.url));
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
      await sessions[1].close();
    }),
  );
}

for (const client of [sdkV2Modern, aiSdk2Modern]) {
  test(
    `an argument that belongs into a header is there, as is what the body says: ${client.name}`,
    on("modern", async (server) => {
      const seen = [];
      const fetch = (url, init) => {
        seen.push(new Headers(init.headers));
        return globalThis.fetch(url, init);
      };
      const session = await client.open(createTransport(client, server.url, { fetch }));
      await session.list();
      await session.call("scripted", { key: "region", steps: server.steps([]), region: "Zürich" });
      const headers = seen.find((each) => each.get("mcp-method") === "tools/call");
      assert.equal(headers.get("mcp-name"), "scripted");
      assert.equal(headers.get("mcp-protocol-version"), "2026-07-28");
      assert.equal(headers.get("mcp-param-region"), `=?base64?${btoa("Z\xc3\xbcrich")}?=`);
      await session.close();
    }),
  );
}

test(
  "a subscription outlives the streams that carry it, and is acknowledged to the client once",
  ours,
  on("modern", async (server) => {
    const errors = [];
    let changes = 0;
    const onChanged = () => {
      changes += 1;
    };
    const session = await sdkV2Modern.open(createTransport(sdkV2Modern, server.url), {
      listChanged: { tools: { onChanged, autoRefresh: false, debounceMs: 0 } },
      onerror: (error) => errors.push(error),
    });
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
    await session.close();
  }),
);
