// What tells of changes at 2026-07-28, `subscriptions/listen`, through all that ends its streams: of `connect`, and of the
// official Client over our transport, whose own would end with the first.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { Client } from "@modelcontextprotocol/client";
import { connect, LandfallTransport } from "../../target/npm/entry/index.js";
import { createModernServer } from "../server/modern/server.mjs";
import { SUBSCRIPTION } from "../server/modern/words.mjs";

const QUICK = { baseMs: 20, maxMs: 100 };
const ENDS = ["end", "cancelled", "close", "fin", "rst"];
const CHANGED = "notifications/tools/list_changed";

let server;
let close;
before(async () => {
  server = await createModernServer();
});
afterEach(async () => {
  await close?.();
  close = undefined;
  server.reset();
});
after(() => server.close());

const listens = () => server.log.filter(({ rpc }) => rpc === "subscriptions/listen");
const add = (name) => server.addTool(`${name}_${listens().length}`);
async function until(holds) {
  for (const end = Date.now() + 10_000; !holds(); ) {
    assert.ok(Date.now() < end, `not within 10 s: ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
const listening = async (times = 1) =>
  until(() => listens().length >= times && server.subscriptions.count === 1);

async function session(options) {
  const events = [];
  const opened = await connect(server.url, {
    era: "modern",
    retry: QUICK,
    logger: false,
    onEvent: (event) => events.push(event),
    ...options,
  });
  close = () => opened.close();
  const messages = () => events.flatMap(({ type, message }) => (type === "message" ? [message] : []));
  const changes = () => messages().filter(({ method }) => method === CHANGED);
  const states = () => events.flatMap(({ type, state }) => (type === "listen" ? [state] : []));
  return { session: opened, messages, changes, states };
}

test("a session with an `onEvent` hears of changes, whatever ends the stream that tells them, and of what it missed", async () => {
  const { messages, changes, states } = await session();
  await listening();
  add("first");
  await until(() => changes().length === 1);
  for (const [n, how] of ENDS.entries()) {
    const heard = changes().length;
    server.subscriptions.all(how);
    await listening(n + 2);
    await until(() => changes().length === heard + 1);
    add("next");
    await until(() => changes().length === heard + 2);
  }
  assert.deepEqual(states(), ["open", ...ENDS.flatMap(() => ["lost", "open"])]);
  const ids = listens().map(({ id }) => id);
  assert.equal(new Set(ids).size, ENDS.length + 1);
  const names = messages().map(({ params }) => params._meta[SUBSCRIPTION]);
  assert.deepEqual(new Set(names), new Set([ids[0]]), "it is one subscription");
  const acknowledged = messages().filter(({ method }) => method.endsWith("acknowledged"));
  assert.equal(acknowledged.length, 1);
});

test("a session that hears nothing opens no stream, and one that wants it does", async () => {
  await session({ onEvent: undefined });
  assert.deepEqual(listens(), []);
  await close();
  await session({ onEvent: undefined, listen: true });
  await listening();
});

test("what a session subscribes to by a request of its own is kept up, too, as one call", async () => {
  const { session: own } = await session({ onEvent: undefined });
  const notifications = { resourceSubscriptions: ["file:///a"] };
  const call = own.request("subscriptions/listen", { notifications });
  const told = [];
  const done = (async () => {
    for await (const event of call) if (event.type === "message") told.push(event.message);
  })();
  await listening();
  server.subscriptions.updated("file:///a");
  await until(() => told.length === 2);
  server.subscriptions.all("end");
  await listening(2);
  await until(() => told.length === 3);
  server.subscriptions.updated("file:///a");
  await until(() => told.length === 4);
  const updated = "notifications/resources/updated";
  assert.deepEqual(
    told.map(({ method }) => method),
    ["notifications/subscriptions/acknowledged", updated, updated, updated],
  );
  assert.deepEqual(
    told.map(({ params }) => params._meta[SUBSCRIPTION]),
    told.map(() => call.id),
  );
  call.cancel();
  await done;
  await until(() => server.subscriptions.count === 0);
});

test("a server that has no such stream is not asked for it again", async () => {
  const faults = { "subscriptions/listen": { status: 404, error: { code: -32601, message: "no" } } };
  const url = `${server.url}?${new URLSearchParams({ faults: JSON.stringify(faults) })}`;
  const states = [];
  const onEvent = ({ type, state }) => type === "listen" && states.push(state);
  const opened = await connect(url, { era: "modern", retry: QUICK, logger: false, onEvent });
  close = () => opened.close();
  await until(() => states.length === 1);
  assert.deepEqual(states, ["unsupported"]);
  assert.ok((await opened.listTools()).length > 0);
});

test("the `listChanged` of the official Client goes on through all that ends its stream", async () => {
  let changes = 0;
  const errors = [];
  const onChanged = () => {
    changes += 1;
  };
  const client = new Client(
    { name: "test", version: "1.0.0" },
    {
      versionNegotiation: { mode: "auto" },
      listChanged: { tools: { onChanged, autoRefresh: false, debounceMs: 0 } },
    },
  );
  client.onerror = (error) => errors.push(error);
  const transport = new LandfallTransport(server.url, { retry: QUICK, logger: false });
  await client.connect(transport);
  close = () => client.close();
  let end;
  client.autoOpenedSubscription.closed.then((cause) => {
    end = cause;
  });
  await listening();
  add("first");
  await until(() => changes === 1);
  for (const [n, how] of ENDS.entries()) {
    const heard = changes;
    server.subscriptions.all(how);
    await listening(n + 2);
    await until(() => changes === heard + 1);
    add("next");
    await until(() => changes === heard + 2);
  }
  assert.equal(end, undefined);
  assert.deepEqual(errors, []);
  await client.autoOpenedSubscription.close();
  await until(() => server.subscriptions.count === 0);
  assert.equal(end, "local");
});
