// A caller who gives up: the server is told once, in the way of its era, and nothing more is asked for that call.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { cases } from "./cases.mjs";
import { clients } from "./clients/all.mjs";
import { isOfficial, ours } from "./transports.mjs";
import { until } from "./until.mjs";

/** Longer than the first waits of a backoff, and than the time to a probe. */
const QUIET_MS = 1_500;

const legacy = clients.filter(({ era }) => era === "legacy");
const modern = clients.filter(({ era }) => era === "modern");

/** A session of a client with a server of its own, and what went wrong in it and in the process. */
async function begin(client, stage) {
  const server = await stage.serve(client.era);
  const errors = [];
  const onerror = (error) => errors.push(error);
  process.on("unhandledRejection", onerror);
  stage.keep({ close: async () => void process.off("unhandledRejection", onerror) });
  const session = await stage.open(client, server, {}, { onerror });
  // A refused probe is an error that the client has dealt with.
  errors.length = 0;
  const { log } = server;
  return {
    session,
    log,
    errors,
    posted: (key) => log.find((entry) => entry.rpc === "tools/call" && entry.key === key),
    cancels: () => log.filter(({ rpc }) => rpc === "notifications/cancelled"),
    since: (at) => log.filter((entry) => entry.at > at && entry.rpc !== "notifications/cancelled"),
  };
}

const live = [{ prime: true }, { message: "working" }, { wait: 60_000 }];
const lost = [
  ...live.slice(0, 2),
  { wait: 100 },
  { refuseResume: { status: 503, times: 1_000 } },
  { cut: "rst" },
];

const aborted = cases();
// The AI SDK aborts, and leaves it to its transport to tell the server.
const told = ({ hasTimer }) => (hasTimer ? {} : ours);

aborted.it("an aborted call is cancelled at the server, once", told, async (client, stage) => {
  const stand = await begin(client, stage);
  const controller = new AbortController();
  const call = stand.session.call("scripted", { key: "live", steps: live }, { signal: controller.signal });
  await until(() => stand.posted("live")?.bytes > 0);
  controller.abort(new Error("enough"));
  await assert.rejects(call);
  const { id } = stand.posted("live");
  await until(() => stand.cancels().some(({ cancels }) => cancels === id));
  await sleep(QUIET_MS);
  assert.deepEqual(
    stand.cancels().map(({ cancels }) => cancels),
    [id],
  );
});

aborted.it("an aborted call is not recovered any more", ours, async (client, stage) => {
  const stand = await begin(client, stage);
  const controller = new AbortController();
  const call = stand.session.call("scripted", { key: "lost", steps: lost }, { signal: controller.signal });
  await until(() => stand.log.some(({ method, status }) => method === "GET" && status === 503));
  controller.abort(new Error("enough"));
  await assert.rejects(call);
  const at = Date.now();
  await sleep(QUIET_MS);
  assert.deepEqual(stand.since(at), []);
  assert.equal(stand.cancels().length, 1);
});

aborted.it("an answer that comes too late is nobody's business", ours, async (client, stage) => {
  const stand = await begin(client, stage);
  const controller = new AbortController();
  const steps = [{ ignoreCancel: true }, { message: "working" }, { wait: 400 }];
  await until(() => stand.log.some(({ method }) => method === "GET"));
  const args = { key: "late", steps, post: { accepted202: true } };
  const call = stand.session.call("scripted", args, { signal: controller.signal });
  await until(() => stand.posted("late")?.status === 202);
  // The AI SDK's client calls a notification an error of its own.
  await sleep(100);
  stand.errors.length = 0;
  controller.abort(new Error("enough"));
  await assert.rejects(call);
  await sleep(QUIET_MS);
  assert.deepEqual(stand.errors, []);
  const next = await stand.session.call("scripted", { key: "next", steps: [] });
  assert.equal(next.structuredContent.key, "next");
});

aborted.it("an answer to nobody is nobody's business", ours, async (client, stage) => {
  const stand = await begin(client, stage);
  const stray = { jsonrpc: "2.0", id: 424_242, result: {} };
  const steps = [{ raw: `data: ${JSON.stringify(stray)}\n\n` }, { wait: 50 }];
  await stand.session.call("scripted", { key: "stray", steps });
  assert.deepEqual(stand.errors, []);
});
aborted.runFor(legacy, "the legacy era");

const timed = cases();

timed.it(
  "a call that it gives up is cancelled at the server, once, and not recovered any more",
  ours,
  async (client, stage) => {
    const stand = await begin(client, stage);
    const call = stand.session.call("scripted", { key: "lost", steps: lost }, { timeout: 700 });
    await assert.rejects(call, /timed out/);
    const at = Date.now();
    await sleep(QUIET_MS);
    assert.deepEqual(stand.since(at), []);
    assert.deepEqual(
      stand.cancels().map(({ cancels }) => cancels),
      [stand.posted("lost").id],
    );
  },
);

timed.it(
  "a call that was sent again under an id of ours is cancelled under that one",
  ours,
  async (client, stage) => {
    const stand = await begin(client, stage);
    await stand.session.list();
    const controller = new AbortController();
    const post = { cutBeforeHeaders: "rst", times: 1, execute: true };
    const args = { key: "again", steps: live, post };
    const call = stand.session.call("scripted_read", args, { signal: controller.signal });
    await until(() => stand.log.filter(({ key, bytes }) => key === "again" && bytes > 0).length === 1);
    controller.abort(new Error("enough"));
    await assert.rejects(call);
    const ids = stand.log.filter(({ rpc }) => rpc === "tools/call").map(({ id }) => id);
    assert.equal(new Set(ids).size, 2);
    await until(() => stand.cancels().some(({ cancels }) => cancels === ids[1]));
  },
);
timed.runFor(
  legacy.filter(({ hasTimer }) => hasTimer),
  "clients with a timer",
);

const closed = cases();

closed.it("an aborted call's body is closed, and nothing is posted", async (client, stage) => {
  const stand = await begin(client, stage);
  const controller = new AbortController();
  const args = { key: "live", steps: live };
  const call = stand.session.call("scripted", args, { signal: controller.signal });
  await until(() => stand.posted("live")?.bytes > 0);
  stand.errors.length = 0;
  controller.abort(new Error("enough"));
  await assert.rejects(call);
  const at = Date.now();
  await until(() => stand.posted("live").closedBy === "client");
  await sleep(QUIET_MS);
  assert.deepEqual([...stand.since(at), ...stand.cancels().filter((entry) => entry.at > at)], []);
  assert.deepEqual(stand.errors, []);
});

closed.it("a call that waits for its headers is given up as well", async (client, stage) => {
  const stand = await begin(client, stage);
  const controller = new AbortController();
  const args = { key: "hung", steps: live, post: { hang: true } };
  const call = stand.session.call("scripted", args, { signal: controller.signal });
  await until(() => stand.posted("hung"));
  controller.abort(new Error("enough"));
  await assert.rejects(call);
  await until(() => stand.posted("hung").closedBy === "client");
  if (!isOfficial) assert.deepEqual(stand.errors, []);
});
closed.runFor(modern, "the modern era");
