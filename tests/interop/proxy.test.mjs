// The cutting proxy: it cuts where its schedule says, and nowhere else.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { PlainClient, readEvents, texts } from "../server/plain-client.mjs";
import { createFaultServer } from "../server/server.mjs";
import { createCuttingProxy } from "./proxy.mjs";

const plans = {
  fin: [{ after: 2, how: "fin" }],
  rst: [{ after: 2, how: "rst" }],
  inside: [{ after: 2, how: "fin", inside: true }],
  twice: [
    { after: 1, how: "fin" },
    { after: 3, how: "fin" },
  ],
  stall: [{ after: 1, how: "stall", ms: 120 }],
};
const steps = ["a", "b", "c", "d"].flatMap((message) => [{ message }, { wait: 5 }]);

let server;
let proxy;
before(async () => {
  server = await createFaultServer();
  proxy = await createCuttingProxy({ upstream: server.url, plan: (key) => plans[key] ?? [] });
});
after(async () => {
  await proxy.close();
  await server.close();
});

const faultsOf = (key) => proxy.faults.filter((fault) => fault.key === key);
const cursorOf = ({ events }) => events.findLast(({ id }) => id).id;

test("without a schedule every byte goes through, on kept-alive connections too", async () => {
  const client = await PlainClient.open(proxy.url);
  const { events, cut } = await readEvents(await client.script("calm", steps));
  assert.equal(cut, false);
  assert.deepEqual(texts(events), ["a", "b", "c", "d"]);
  assert.equal((await client.request("ping")).status, 200);
});

for (const how of ["fin", "rst"]) {
  test(`${how}: the body is cut between two events, and the log says so`, async () => {
    const client = await PlainClient.open(proxy.url);
    const first = await readEvents(await client.script(how, steps));
    assert.equal(first.cut, true);
    assert.equal(first.rest ?? "", "");
    const [fault] = faultsOf(how);
    assert.deepEqual(
      { ...fault, at: 0 },
      {
        at: 0,
        key: how,
        how,
        method: "POST",
        headersSent: true,
        bodyOpen: true,
        insideEvent: false,
        events: 2,
      },
    );
  });
}

test("inside: the third event is begun and not ended", async () => {
  const client = await PlainClient.open(proxy.url);
  const first = await readEvents(await client.script("inside", steps));
  assert.deepEqual(texts(first.events), ["a", "b"]);
  assert.match(first.rest, /data: \{"json/);
  assert.equal(faultsOf("inside")[0].insideEvent, true);
});

test("a schedule goes on over resumes, and replayed events are not counted again", async () => {
  const client = await PlainClient.open(proxy.url);
  const bodies = [await readEvents(await client.script("twice", steps))];
  bodies.push(await readEvents(await client.resume(cursorOf(bodies[0]))));
  bodies.push(await readEvents(await client.resume(cursorOf(bodies[1]))));
  assert.deepEqual(
    bodies.map(({ events }) => texts(events)),
    [["a"], ["b", "c"], ["d"]],
  );
  assert.deepEqual(
    faultsOf("twice").map(({ method, events }) => [method, events]),
    [
      ["POST", 1],
      ["GET", 3],
    ],
  );
});

test("stall: nothing comes for a while, then the rest", async () => {
  const client = await PlainClient.open(proxy.url);
  const started = performance.now();
  const { events } = await readEvents(await client.script("stall", steps));
  assert.ok(performance.now() - started > 115);
  assert.deepEqual(texts(events), ["a", "b", "c", "d"]);
});

test("a cut closes the connection to the server too, at once or after a while", async () => {
  plans.lingering = [{ after: 1, how: "fin", lingerMs: 60 }];
  const client = await PlainClient.open(proxy.url);
  await readEvents(await client.script("lingering", [{ message: "a" }, { wait: 200 }]));
  const entry = server.log.find(({ key }) => key === "lingering");
  assert.equal(entry.closedAt, undefined);
  await new Promise((resolve) => setTimeout(resolve, 90));
  assert.equal(entry.closedBy, "client");
});

test("what is under way can be cut by hand, and nothing else is", async () => {
  const client = await PlainClient.open(proxy.url);
  const long = [{ message: "a" }, { wait: 500 }, { message: "b" }];
  const bodies = await Promise.all(["by hand", "spared"].map((key) => client.script(key, long)));
  assert.equal(
    proxy.cut(({ key }) => key === "by hand"),
    1,
  );
  const [cut, spared] = await Promise.all(bodies.map(readEvents));
  assert.equal(cut.cut, true);
  assert.deepEqual(texts(spared.events), ["a", "b"]);
  assert.equal(
    proxy.cut(() => true),
    0,
  );
});
