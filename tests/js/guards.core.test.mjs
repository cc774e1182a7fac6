// Small promises of the wrapper towards the module that nothing else would miss: each test was written after a deliberate
// break of what it states had passed all others (tests/mutants).
import assert from "node:assert/strict";
import { test } from "node:test";
import { CoreHandle } from "../../target/modules/core/handle.js";
import { Instance, Instances } from "../../target/modules/core/instance.js";
import { WorkerContext } from "../../target/modules/core/worker-context.js";
import { emptyModule, FakeCore, fakeSession, turn } from "./support/fake-core.mjs";

const nothing = () => {};

test("what was handled is reported without what lies between, in the same turn as well", async () => {
  const release = new Map();
  const onEvent = ({ message }) => new Promise((resolve) => release.set(message.params.data, resolve));
  const { session, core } = await fakeSession({ onEvent });
  session.callTool("work");
  core.messages(1, [1, 2, 3]);
  await turn();
  release.get(1)();
  release.get(3)();
  await turn();
  assert.deepEqual(core.handled, [
    [1, true],
    [3, true],
  ]);
  await session.close();
});

test("what was handled is reported to the call that it belongs to", async () => {
  const { session, core } = await fakeSession();
  for (const name of ["one", "two"]) session.callTool(name);
  const outputs = [1, 2].map((call) => ({
    ...{ out: "event", at: 5, type: "message", message: 0 },
    ...{ call, key: call },
  }));
  core.tell(outputs, [{ jsonrpc: "2.0", method: "notifications/message", params: {} }]);
  await turn();
  assert.deepEqual(
    core.called("handled").map(([, , call, first, last]) => [call, first, last]),
    [
      [1, 1, 1],
      [2, 2, 2],
    ],
  );
});

test("a handle that the core refused has no seat in its instance", () => {
  const core = new FakeCore();
  core.on.create = () => ({ option: "idleMs", message: "idleMs is wrong" });
  const instance = new Instance(core.exports);
  const setup = { settings: {}, config: {}, clock: () => 1 };
  assert.throws(() => new CoreHandle(instance, setup, {}), { name: "ConfigError", option: "idleMs" });
  assert.equal(instance.used, 0);
});

test("what a core told before it trapped is told, and then the loss", async () => {
  const { session, core } = await fakeSession();
  const call = session.callTool("one");
  core.on.cancel = () => ({
    outputs: [{ out: "settle", call: 1, at: 2, type: "result", message: { result: "in time" } }],
  });
  core.on.call = () => {
    throw new Error("trap");
  };
  call.cancel();
  const lost = session.callTool("two");
  assert.equal(await call.result, "in time");
  await assert.rejects(lost.result, { reason: "internal_error" });
});

test("after the end nothing is told, though the core had more to say", async () => {
  const events = [];
  const { session, core } = await fakeSession({ onEvent: ({ type }) => void events.push(type) });
  core.on.close = () => ({
    outputs: [{ out: "closed" }, { out: "event", at: 1, type: "listen", state: "lost" }],
  });
  await session.close();
  await turn();
  assert.deepEqual(events, []);
});

test("an instance goes with its last handle, whoever still holds it", () => {
  const instance = new Instance(new FakeCore().exports);
  const seats = [{ lost() {} }, { lost() {} }];
  for (const seat of seats) instance.join(seat);
  instance.leave(seats[0]);
  assert.equal(
    instance.enter(() => "entered"),
    "entered",
  );
  instance.leave(seats[1]);
  assert.ok(instance.isLost, "its memory would only have grown");
  assert.equal(
    instance.enter(() => "entered"),
    undefined,
  );
});

test("an instance that trapped is not entered again", () => {
  const instance = new Instance(new FakeCore().exports);
  assert.equal(
    instance.enter(() => {
      throw new Error("trap");
    }),
    undefined,
  );
  assert.ok(instance.isLost);
  assert.equal(
    instance.enter(() => "entered"),
    undefined,
  );
});

test("outside of browsers each session has an instance of its own, however many there are", async () => {
  const instances = new Instances(
    () => emptyModule,
    () => new FakeCore().exports,
  );
  await instances.ready();
  const all = Array.from({ length: 30 }, () => {
    const instance = instances.acquire();
    instance.join({ lost: nothing });
    return instance;
  });
  assert.equal(new Set(all).size, 30);
});

test("a Worker's request whose objects can't be looked at is another one", (t) => {
  let isElsewhere = false;
  globalThis.WebSocketPair = class {
    0 = {
      get readyState() {
        if (isElsewhere) throw new Error("belongs to another request");
        return 0;
      },
    };
  };
  t.after(() => delete globalThis.WebSocketPair);
  const context = new WorkerContext();
  assert.equal(context.isElsewhere, false);
  isElsewhere = true;
  assert.equal(context.isElsewhere, true);
});
