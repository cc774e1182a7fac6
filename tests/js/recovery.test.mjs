// What a caller sees of recovery: the wrapper and the real core against the fault server, over real sockets.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { connect } from "../../target/modules/entry/index.js";
import { createFaultServer } from "../server/server.mjs";
import { eventsOf } from "./support/fake-core.mjs";

let server;
let keys = 0;
const unhandled = [];
const note = (thrown) => unhandled.push(thrown);

before(async () => {
  process.on("unhandledRejection", note);
  process.on("uncaughtException", note);
  server = await createFaultServer();
});
after(async () => {
  await server.close();
  process.off("unhandledRejection", note).off("uncaughtException", note);
  assert.deepEqual(unhandled, []);
});

/** A session, and `run(steps)`, which calls a tool of the server's with them. */
async function opened(options = {}) {
  const session = await connect(server.url, { era: "resumable", retry: { baseMs: 20 }, ...options });
  const run = (steps, { tool = "scripted", post, ...callOptions } = {}) => {
    keys += 1;
    const args = { key: `recovery-${keys}`, steps, ...(post && { post }) };
    return Object.assign(session.callTool(tool, args, callOptions), { key: args.key });
  };
  return { session, run };
}

const texts = (events) =>
  events.filter(({ type }) => type === "message").map(({ message }) => message.params.data);
const types = (events) => events.map(({ type }) => type);
const cut = [{ wait: 40 }, { cut: "rst" }, { awaitResume: true }];
const prime = { prime: true, retry: 10 };

test("an event whose handler failed comes again with the next resume, and then no more", async () => {
  const seen = [];
  const onEvent = async ({ type, message }) => {
    if (type !== "message") return;
    seen.push(message.params.data);
    if (message.params.data === "two" && seen.length === 2) throw new Error("not yet");
  };
  const { session, run } = await opened({ onEvent });
  const call = run([prime, { message: "one" }, { message: "two" }, { message: "three" }, ...cut]);
  await call.result;
  await session.close();
  assert.deepEqual(seen, ["one", "two", "three", "two"]);
  assert.equal(server.executions(call.key), 1);
});

test("an event whose handler failed for good is reported as skipped before the outcome", async () => {
  const events = [];
  const onEvent = (event) => {
    events.push(event);
    if (event.message?.params?.data === "two") throw new Error("never");
  };
  const { session, run } = await opened({ onEvent });
  const call = run([prime, { message: "one" }, { message: "two" }, ...cut]);
  await call.result;
  assert.equal(texts(events).filter((data) => data === "two").length, 2);
  const ours = types(events).filter((type) => type === "event_skipped" || type === "result");
  assert.deepEqual(ours, ["event_skipped", "result"]);
  assert.equal(session.metrics().skipped, 1);
  await session.close();
});

test("a handler that never settles costs its event handlerMs, not the call", async () => {
  const events = [];
  const onEvent = (event) => {
    events.push(event.type);
    return event.type === "message" ? new Promise(() => {}) : undefined;
  };
  const { session, run } = await opened({ onEvent, timeouts: { handlerMs: 30 } });
  await run([prime, { message: "one" }, { wait: 100 }]).result;
  assert.deepEqual(
    events.filter((type) => type === "event_skipped" || type === "result"),
    ["event_skipped", "result"],
  );
  await session.close();
});

test("a slow loop is given every event once, over a cut, and takes longer than handlerMs", async () => {
  const { session, run } = await opened({ timeouts: { handlerMs: 10 } });
  const messages = Array.from({ length: 6 }, (_, i) => ({ message: `${i}` }));
  const call = run([prime, ...messages.slice(0, 3), ...cut, ...messages.slice(3)]);
  const events = [];
  for await (const event of call) {
    events.push(event);
    if (event.type === "message") await new Promise((resolve) => setTimeout(resolve, 25));
  }
  assert.deepEqual(texts(events), ["0", "1", "2", "3", "4", "5"]);
  assert.ok(!types(events).includes("event_skipped"));
  await session.close();
});

test("a body is not read beyond maxPending, and the loop still gets everything", async () => {
  let reading = 0;
  const fetch = async (url, init) => {
    const response = await globalThis.fetch(url, init);
    if (!init.body?.includes("tools/call")) return response;
    const counted = new TransformStream({
      transform(chunk, controller) {
        reading += new TextDecoder().decode(chunk).split("\ndata:").length - 1;
        controller.enqueue(chunk);
      },
    });
    return new Response(response.body.pipeThrough(counted), response);
  };
  const { session, run } = await opened({ fetch, limits: { maxPending: { events: 3 } } });
  const steps = Array.from({ length: 20 }, (_, i) => [{ message: `${i}` }, { wait: 5 }]).flat();
  const loop = run([prime, ...steps])[Symbol.asyncIterator]();
  const events = [];
  while (texts(events).length === 0) events.push((await loop.next()).value);
  await new Promise((resolve) => setTimeout(resolve, 250));
  assert.ok(reading < 12, `${reading} events were read while the loop stood still`);
  for (let next = await loop.next(); !next.done; next = await loop.next()) events.push(next.value);
  assert.equal(texts(events).length, 20);
  assert.equal(events.at(-1).type, "result");
  await session.close();
});

test("a loop that was left holds nothing back", async () => {
  const { session, run } = await opened({ limits: { maxPending: { events: 2 } } });
  const steps = Array.from({ length: 12 }, (_, i) => ({ message: `${i}` }));
  const call = run([prime, ...steps, { wait: 20 }]);
  for await (const event of call) if (event.type === "message") break;
  await call.result;
  assert.equal(texts(await eventsOf(call)).length, 11);
  await session.close();
});

test("tokens come with every committed cursor, also after a resume, and take the call up again", async () => {
  const { session, run } = await opened();
  const tokens = [];
  const steps = [prime, { message: "one" }, ...cut, { message: "two" }, { wait: 60 }, { message: "three" }];
  const first = run([...steps, { ignoreCancel: true }, { wait: 200 }, { message: "four" }], {
    onresumptiontoken: (token) => tokens.push(token),
  });
  for await (const event of first) if (texts([event])[0] === "three") break;
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(new Set(tokens).size, tokens.length);
  assert.ok(tokens.length >= 4, `${tokens}`);
  first.cancel();
  const again = session.callTool("scripted", {}, { resumptionToken: tokens.at(-1) });
  const events = await eventsOf(again);
  assert.deepEqual(texts(events), ["four"]);
  assert.equal((await again.result).structuredContent.execution, 1);
  assert.equal(server.executions(first.key), 1);
  await session.close();
});

test("isGap finds what the ids do not show, and onGap acts on it", async () => {
  const isGap = (before, after) => Number(after.data) !== Number(before.data) + 1;
  const steps = [prime, { message: "1" }, { wait: 40 }, { cut: "rst" }, { message: "5" }];
  const going = await opened({ isGap });
  const events = await eventsOf(going.run([...steps, { awaitResume: true }, { wait: 20 }]));
  const gap = events.find(({ type }) => type === "gap");
  assert.equal(gap.certain, true);
  const around = types(events).filter((type) => ["gap", "message", "result"].includes(type));
  assert.deepEqual(around, ["message", "gap", "message", "result"]);
  await going.session.close();

  const failing = await opened({ isGap, onGap: "fail" });
  const failed = failing.run([...steps, { awaitResume: true }, { wait: 20 }]);
  await assert.rejects(failed.result, { reason: "gap" });
  await failing.session.close();
});

test("replay decides what is sent again after a refusal that proves nothing", async () => {
  const post = { cutBeforeHeaders: "rst", execute: true, times: 1 };
  const never = await opened({ replay: "never" });
  const call = never.run([], { post, tool: "scripted_idempotent", idempotent: true });
  await assert.rejects(call.result, { outcome: "unknown", retrySafe: false });
  assert.equal(server.executions(call.key), 1);
  await never.session.close();
  for (const replay of [() => true, { scripted: true }]) {
    const { session, run } = await opened({ replay });
    const safe = run([], { post });
    await safe.result;
    assert.equal(server.executions(safe.key), 2);
    assert.equal(session.metrics().reissues, 1);
    await session.close();
  }
});

test("a call's key is the same on every re-issue", async () => {
  const sent = [];
  const fetch = (url, init) => {
    if (init.body?.includes('"tools/call"')) sent.push(JSON.parse(init.body));
    return globalThis.fetch(url, init);
  };
  const { session, run } = await opened({ fetch, callKey: ({ requestId }) => `key of ${requestId}` });
  const call = run([], { post: { status: 503, times: 1 }, idempotent: true });
  await call.result;
  assert.ok(sent.length >= 2);
  assert.ok(sent.every(({ params }) => params._meta["landfall/call-key"] === `key of ${call.id}`));
  assert.equal(new Set(sent.map(({ id }) => id)).size, sent.length);
  await session.close();
});

test("a session that the server forgot is replaced or not, as onSessionLost says", async () => {
  const steps = [prime, { message: "one" }, { wait: 30 }, { killSession: 404 }];
  const replacing = await opened();
  const { sessionId } = replacing.session;
  const lost = replacing.run(steps);
  await assert.rejects(lost.result, { reason: "session_lost" });
  await replacing.run([]).result;
  assert.notEqual(replacing.session.sessionId, sessionId);
  await replacing.session.close();

  const failing = await opened({ onSessionLost: "fail" });
  await assert.rejects(failing.run(steps).result, { reason: "session_lost" });
  await assert.rejects(failing.run([]).result, { reason: "session_lost" });
  await failing.session.close();
});

test("onUnknown saves a call that can't be sent again", async () => {
  const asked = [];
  const { session, run } = await opened({
    onUnknown: async ({ tool, arguments: args }) => {
      asked.push([tool, args.key]);
      return { content: [], saved: true };
    },
  });
  const call = run([], { post: { cutBeforeHeaders: "rst", execute: true } });
  assert.equal((await call.result).saved, true);
  assert.deepEqual(asked, [["scripted", call.key]]);
  await session.close();
});

test("metrics count what happened", async () => {
  const { session, run } = await opened();
  await run([prime, { message: "one" }, ...cut, { message: "two" }]).result;
  await run([], { post: { status: 500 } }).result.catch(() => {});
  const metrics = session.metrics({ reset: true });
  assert.equal(metrics.calls, 2);
  assert.equal(metrics.answered, 1);
  assert.deepEqual(metrics.failed, { http_error: 1 });
  assert.deepEqual([metrics.drops.network, metrics.resumes.tried], [1, 1]);
  assert.deepEqual(metrics.levels.L1, { tried: 1, won: 1 });
  assert.equal(metrics.histograms.callMs.count, 2);
  assert.ok(metrics.bytes > 100 && metrics.events >= 3);
  assert.equal(session.metrics().calls, 0);
  await session.close();
});
