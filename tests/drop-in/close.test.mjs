// close(): what is pending settles, the session is ended once, and then there is silence.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { cases } from "./cases.mjs";
import { clients, sdkV1 } from "./clients/all.mjs";
import { Stage } from "./stage.mjs";
import { serveStub } from "./stub.mjs";
import { createTransport, ours } from "./transports.mjs";
import { until } from "./until.mjs";

const QUIET_MS = 1_500;
const live = [{ prime: true }, { message: "working" }, { wait: 60_000 }];
const lost = [
  ...live.slice(0, 2),
  { wait: 100 },
  { refuseResume: { status: 503, times: 1_000 } },
  { cut: "rst" },
];

/** Counts the calls of a callback that someone else has set, and goes on calling it. */
function count(transport, name) {
  const theirs = transport[name];
  const calls = [];
  transport[name] = (...args) => {
    calls.push(args);
    theirs?.(...args);
  };
  return calls;
}

const closers = {
  "the client's close": (session) => session.close(),
  "the transport's close": ({ transport }) => transport.close(),
};

const { it, runFor } = cases();
for (const [name, close] of Object.entries(closers)) {
  it(
    `${name} settles every call, ends the session once and is quiet from then on`,
    ours,
    async (client, stage) => {
      const isLegacy = client.era === "legacy";
      const server = await stage.serve(client.era);
      const errors = [];
      const onerror = (error) => errors.push(error);
      const session = await stage.open(client, server, { terminateSessionOnClose: true }, { onerror });
      const { transport } = session;
      const { sessionId } = transport;
      const calls = [session.call("scripted", { key: "live", steps: live })];
      await until(() => server.log.some((entry) => entry.key === "live" && entry.bytes > 0));
      if (isLegacy) {
        calls.push(session.call("scripted", { key: "lost", steps: lost }));
        await until(() => server.log.some(({ method, status }) => method === "GET" && status === 503));
      }
      const closes = count(transport, "onclose");
      const messages = count(transport, "onmessage");
      errors.length = 0;
      const settled = Promise.all(
        calls.map((call) => assert.rejects(call, { name: "ToolCallFailedError", reason: "closed" })),
      );
      await Promise.all([close(session), settled]);
      const at = Date.now();
      await transport.close();
      await session.close();
      await sleep(QUIET_MS);
      assert.equal(closes.length, 1);
      assert.deepEqual(messages, []);
      assert.deepEqual(errors, []);
      assert.deepEqual(
        server.log.filter((entry) => entry.at > at),
        [],
      );
      const deletes = server.log.filter(({ method }) => method === "DELETE");
      assert.deepEqual(
        deletes.map((entry) => entry.session),
        isLegacy ? [sessionId] : [],
      );
      assert.ok(server.log.every(({ closedAt, rpc }) => closedAt !== undefined || rpc === undefined));
    },
  );
}

it("during a handshake that hangs, it ends that too", ours, async (client, stage) => {
  const stub = stage.keep(await serveStub(() => "hang"));
  const transport = createTransport(client, stub.url);
  const opening = client.open(transport);
  await until(() => stub.requests.length > 0);
  const closes = count(transport, "onclose");
  const rejected = assert.rejects(opening);
  await transport.close();
  await rejected;
  const { length } = stub.requests;
  await sleep(QUIET_MS);
  assert.equal(stub.requests.length, length);
  assert.equal(closes.length, 1);
});
runFor(clients);

test("close leaves the session to the server unless it is asked to end it", ours, async (t) => {
  const stage = new Stage(t);
  const server = await stage.serve("legacy");
  const session = await stage.open(sdkV1, server);
  await session.close();
  assert.equal(
    server.log.some(({ method }) => method === "DELETE"),
    false,
  );
});

test("a process in which all is closed ends by itself", ours, async (t) => {
  const server = await new Stage(t).serve("legacy");
  const script = fileURLToPath(new URL("close.process.mjs", import.meta.url));
  const child = spawn(process.execPath, [script, server.url.href], { stdio: ["ignore", "pipe", "inherit"] });
  const chunks = [];
  child.stdout.on("data", (chunk) => chunks.push(chunk));
  const late = setTimeout(() => child.kill("SIGKILL"), 10_000);
  const [code] = await once(child, "exit");
  clearTimeout(late);
  assert.equal(code, 0);
  const closedAt = Number(Buffer.concat(chunks).toString("utf8"));
  assert.ok(Date.now() - closedAt < 5_000);
});
