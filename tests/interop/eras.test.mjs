// One `connect` for servers of every era, behind a proxy that cuts: what it finds out, and what becomes of its calls.
import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ERA_SERVERS, probesOf, whenCut } from "../servers/eras.mjs";
import { missing } from "../servers/servers.mjs";
import { EraStage, endOf, gather, progressOf, until } from "./era-stage.mjs";

const CUT = [{ after: 2, how: "rst" }];

/** The same with what `exportState()` gave: nothing but what a session is. */
const PROBES_WITH_STATE = {
  modern: [],
  legacy: [],
  sse: ["GET 200", "initialize 202", "notifications/initialized 202"],
};

const count = (session, key, { tool = "count", steps = 2, ...options } = {}) =>
  session.callTool(tool, { steps, interval_ms: 60, key }, options);

function findsOut(stage) {
  const { kind } = stage;
  const { era, protocolVersion } = kind;

  test("it is found out what it speaks, by no more than has to be asked", async () => {
    const session = await stage.session();
    assert.deepEqual([session.era, session.protocolVersion], [era, protocolVersion]);
    assert.equal(session.serverInfo.name, "servers");
    assert.deepEqual(stage.exchanges, probesOf(kind));
  });

  test("what was found out is in the state, and nothing is asked again", async () => {
    const first = await stage.session({ terminateSessionOnClose: false });
    const state = JSON.parse(JSON.stringify(first.exportState()));
    await first.close();
    stage.proxy.exchanges.length = 0;
    const session = await stage.session({ state });
    assert.deepEqual([session.era, session.protocolVersion], [era, protocolVersion]);
    assert.deepEqual(stage.exchanges, PROBES_WITH_STATE[era]);
    assert.equal(await endOf(count(session, "by state")), "answer 2 steps");
  });
}

function calls(stage) {
  const { kind } = stage;

  test("its tools are listed, and a call tells its progress and runs once", async () => {
    const session = await stage.session();
    const names = (await session.listTools()).map(({ name }) => name);
    for (const name of ["count", "recite", "rest", "grow"]) assert.ok(names.includes(name), name);
    const call = count(session, "once");
    const { events, done } = gather(call);
    assert.equal(await endOf(call), "answer 2 steps");
    await done;
    assert.deepEqual(progressOf(events), [1, 2]);
    assert.deepEqual(await stage.server.counts("once"), { ran: 1, cancelled: 0 });
  });

  test("a cancel ends the call at once, and its tool stops", async () => {
    const call = (await stage.session()).callTool("rest", { key: "rest" });
    const { events } = gather(call);
    await until(() => progressOf(events).length > 0);
    call.cancel();
    assert.equal(await endOf(call), "cancelled unknown");
    await until(async () => (await stage.server.counts("rest")).cancelled === 1);
    const told = stage.proxy.exchanges.some(({ rpc }) => rpc === "notifications/cancelled");
    assert.equal(told, kind.cancels === "message");
  });
}

function isCut(stage) {
  const { era, resumes } = stage.kind;

  /** The stream that has the answer is cut after its second event, or that of the session once there was progress. */
  async function cut(tool) {
    const key = `cut ${tool}`;
    stage.plan(key, CUT);
    const session = await stage.session();
    await session.listTools();
    const call = count(session, key, { tool, steps: 8 });
    const { events, done } = gather(call);
    if (era === "sse") {
      await until(() => progressOf(events).length > 1);
      assert.equal(
        stage.proxy.cut(({ method }) => method === "GET"),
        1,
      );
    }
    const end = await endOf(call);
    await done;
    return { end, events, ran: (await stage.server.counts(key)).ran, session };
  }

  test("a call that is cut is taken up again, or told as what it is, and never runs twice", async () => {
    const { end, events, ran } = await cut("count");
    assert.equal(end, whenCut(stage.kind) ?? "answer 8 steps");
    assert.equal(ran, 1);
    if (resumes) assert.deepEqual(progressOf(events), [1, 2, 3, 4, 5, 6, 7, 8]);
  });

  test("a call that only reads has its answer, whatever is cut, and so has the next one", async () => {
    const { end, events, ran, session } = await cut("recite");
    assert.equal(end, "answer 8 steps");
    assert.equal(ran, resumes ? 1 : 2);
    assert.equal(events.filter(({ type }) => type === "reissued").length, resumes ? 0 : 1);
    assert.equal(await endOf(count(session, "after")), "answer 2 steps");
  });
}

function hears(stage) {
  const { deaf } = stage.kind;
  const isListening = ({ method, rpc, key }) =>
    rpc === "subscriptions/listen" || (method === "GET" && key === undefined);

  test(`what changes is heard${deaf ? "" : ", also after the stream that tells it was cut"}`, async () => {
    const heard = [];
    const session = await stage.session({ onEvent: (event) => heard.push(event.message?.method) });
    const changes = () => heard.filter((method) => method === "notifications/tools/list_changed").length;
    const grow = async (name) => {
      const before = changes();
      let n = 0;
      await until(async () => {
        n += 1;
        // One that is under way when the stream is cut may be lost.
        await endOf(session.callTool("grow", { name: `${name}_${n}` }));
        await sleep(50);
        return changes() > before;
      });
    };
    await grow("before");
    if (deaf) return;
    assert.equal(stage.proxy.cut(isListening), 1);
    await grow("after");
  });
}

function asks(stage) {
  test("what it asks by its result is answered, and the call goes on", async () => {
    const asked = [];
    const session = await stage.session({
      capabilities: { elicitation: {} },
      onRequest: async ({ method, params }) => {
        asked.push(`${method}: ${params.message}`);
        return { action: "accept", content: { colour: "blue" } };
      },
    });
    assert.equal(await endOf(session.callTool("choose", { key: "choose" })), "answer blue");
    assert.deepEqual(asked, ["elicitation/create: Which colour?"]);
  });
}

for (const kind of ERA_SERVERS) {
  const skip = missing(kind).length > 0 && `not installed: ${missing(kind).join(", ")}`;
  describe(kind.name, { skip, timeout: 120_000 }, () => {
    const stage = new EraStage(kind);
    before(() => stage.begin());
    afterEach(() => stage.tidy());
    after(() => stage.end());
    findsOut(stage);
    calls(stage);
    isCut(stage);
    hears(stage);
    if (kind.asks) asks(stage);
  });
}
