// The fault server: each step does what the README says of it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { PlainClient, readEvents, texts } from "./plain-client.mjs";
import { createFaultServer } from "./server.mjs";

let server;
before(async () => {
  server = await createFaultServer();
});
after(() => server.close());

const ids = (events) => events.flatMap(({ id }) => id ?? []);
const lastId = (events) => ids(events).at(-1);

test("a call without faults is one stream of numbered events and the result", async () => {
  const client = await PlainClient.open(server.url);
  const { events, cut } = await readEvents(
    await client.script("plain", [{ prime: true, retry: 70 }, { message: "one" }, { message: "two" }]),
  );
  assert.equal(cut, false);
  assert.deepEqual(texts(events), ["one", "two"]);
  assert.match(ids(events).join(" "), /^(k\d+)\/1 \1\/2 \1\/3 \1\/4$/);
  assert.equal(events[0].retry, 70);
  assert.equal(events.at(-1).message.result.structuredContent.execution, 1);
  assert.equal(server.executions("plain"), 1);
});

test("progress goes only to a client that sent a token", async () => {
  const client = await PlainClient.open(server.url);
  const steps = [{ progress: 1, total: 2 }];
  const without = await readEvents(await client.script("silent", steps));
  const asked = await readEvents(await client.script("asked", steps, { _meta: { progressToken: "t" } }));
  assert.equal(without.events.length, 1);
  assert.deepEqual(asked.events[0].message.params, { progressToken: "t", progress: 1, total: 2 });
});

for (const how of ["fin", "rst"]) {
  test(`a stream cut by ${how} is replayed from the cursor, and the tool ran once`, async () => {
    const client = await PlainClient.open(server.url);
    const key = `cut ${how}`;
    const steps = [{ message: "a" }, { message: "b" }, { wait: 20 }, { cut: how }, { message: "c" }];
    const first = await readEvents(await client.script(key, steps));
    assert.equal(first.cut, true);
    const second = await readEvents(await client.resume(ids(first.events)[0]));
    assert.deepEqual(texts(second.events), ["b", "c"]);
    assert.ok(second.events.at(-1).message.result);
    assert.equal(server.executions(key), 1);
  });
}

test("an event cut in its middle is not ended, and comes whole with the resume", async () => {
  const client = await PlainClient.open(server.url);
  const steps = [
    { message: "a" },
    { cut: "inside" },
    { message: "b" },
    { awaitResume: true },
    { message: "c" },
  ];
  const first = await readEvents(await client.script("inside", steps));
  assert.equal(first.cut, true);
  assert.deepEqual(texts(first.events), ["a"]);
  assert.match(first.rest, /^id: k\d+\/2\nevent: message\ndata: \{/);
  const second = await readEvents(await client.resume(lastId(first.events)));
  assert.deepEqual(texts(second.events), ["b", "c"]);
});

test("a polite close ends the body, tells when to come back, and loses nothing", async () => {
  const client = await PlainClient.open(server.url);
  const first = await readEvents(
    await client.script("polite", [{ message: "a" }, { close: true, retry: 90 }, { message: "b" }]),
  );
  assert.equal(first.cut, false);
  assert.equal(first.retry, 90);
  const second = await readEvents(await client.resume(lastId(first.events)));
  assert.deepEqual(texts(second.events), ["b"]);
});

test("process_batch closes at each checkpoint and primes every resume with the cursor and a retry", async () => {
  const client = await PlainClient.open(server.url);
  const args = { items: 5, checkpoint_every: 2, interval_ms: 5, key: "batch" };
  let got = await readEvents(await client.request("tools/call", { name: "process_batch", arguments: args }));
  const all = [...texts(got.events)];
  for (let n = 0; n < 2; n += 1) {
    const cursor = lastId(got.events);
    got = await readEvents(await client.resume(cursor));
    assert.deepEqual(got.events[0], { id: cursor, retry: 100, data: "" });
    all.push(...texts(got.events));
  }
  assert.deepEqual(
    all.filter((text) => text.startsWith("[")),
    [1, 2, 3, 4, 5].map((n) => `[${n}/5] item ${n}`),
  );
  assert.ok(got.events.at(-1).message.result);
  assert.equal(server.executions("batch"), 1);
});

test("a half-open stream gets no byte; a resume beside it meets 409 while the old body is held", async () => {
  const client = await PlainClient.open(server.url);
  const response = await client.script("held", [
    { hold409: true },
    { message: "a" },
    { stall: 0 },
    { message: "b" },
  ]);
  const reader = response.body.getReader();
  const { value } = await reader.read();
  const cursor = /id: (\S+)/.exec(new TextDecoder().decode(value))[1];
  assert.equal((await client.resume(cursor)).status, 409);
  await reader.cancel();
  let resumed;
  do resumed = await client.resume(cursor);
  while (resumed.status === 409);
  assert.deepEqual(texts((await readEvents(resumed)).events), ["b"]);
});

test("a refused resume is refused as often as told, with the headers told", async () => {
  const client = await PlainClient.open(server.url);
  const refuseResume = { status: 503, times: 2, headers: { "retry-after": "1" }, body: "busy" };
  const first = await readEvents(
    await client.script("refused", [{ refuseResume }, { message: "a" }, { wait: 20 }, { cut: "fin" }]),
  );
  const cursor = lastId(first.events);
  for (let n = 0; n < 2; n += 1) {
    const refused = await client.resume(cursor);
    assert.equal(refused.status, 503);
    assert.equal(refused.headers.get("retry-after"), "1");
    assert.equal(await refused.text(), "busy");
  }
  assert.equal((await client.resume(cursor)).status, 200);
});

test("evicted events, an unknown cursor and a dead session have their own statuses", async () => {
  const client = await PlainClient.open(server.url);
  const cutAfter = (...steps) => [{ message: "a" }, { wait: 20 }, ...steps, { cut: "fin" }];
  const evicted = await readEvents(await client.script("evicted", cutAfter({ evict: 404 })));
  assert.equal((await client.resume(lastId(evicted.events))).status, 404);
  assert.equal((await client.resume("nothing/1")).status, 400);
  const killed = await readEvents(
    await client.script("killed", [{ message: "a" }, { wait: 20 }, { killSession: true }]),
  );
  assert.equal(killed.cut, true);
  assert.equal((await client.resume(lastId(killed.events))).status, 404);
  assert.equal((await client.request("ping")).status, 404);
});

test("duplicates and replays from the wrong place are really sent", async () => {
  const client = await PlainClient.open(server.url);
  const steps = [
    { message: "a" },
    { message: "b" },
    { duplicate: 1 },
    { replayFrom: 0 },
    { wait: 20 },
    { cut: "fin" },
  ];
  const first = await readEvents(await client.script("doubled", steps));
  assert.deepEqual(texts(first.events), ["a", "b", "b"]);
  const second = await readEvents(await client.resume(lastId(first.events)));
  assert.deepEqual(texts(second.events), ["a", "b"]);
});

test("faults of the POST come before anything runs, unless told to execute", async () => {
  const client = await PlainClient.open(server.url);
  const once = await client.script("once", [], { post: { status: 429, times: 1 } });
  assert.equal(once.status, 429);
  assert.equal(server.executions("once"), 0);
  assert.equal(
    (await readEvents(await client.script("once", [], { post: { status: 429, times: 1 } }))).cut,
    false,
  );
  assert.equal(server.executions("once"), 1);
  await assert.rejects(client.script("cut", [], { post: { cutBeforeHeaders: true, execute: true } }));
  assert.equal(server.executions("cut"), 1);
  const json = await client.script("json", [{ message: "unheard" }], { post: { json: true } });
  assert.equal((await json.json()).result.structuredContent.key, "json");
});

const keyed = (callKey) => ({ _meta: { "landfall/call-key": callKey } });

test("a call whose key was seen before does not run again: it gets the run's stream from its start", async () => {
  const client = await PlainClient.open(server.url);
  const steps = [{ message: "a" }, { wait: 20 }, { cut: "rst" }, { awaitResume: true }, { message: "b" }];
  const first = await readEvents(await client.script("streamed", steps, keyed("one")));
  assert.equal(first.cut, true);
  const { id } = server.log.findLast((entry) => entry.key === "streamed");
  const second = await readEvents(await client.script("streamed", steps, keyed("one")));
  assert.deepEqual(texts(second.events), ["a", "b"]);
  assert.equal(ids(second.events)[0], ids(first.events)[0]);
  const entry = server.log.findLast((each) => each.key === "streamed");
  assert.deepEqual([entry.repeats, second.events.at(-1).message.id], [id, entry.id]);
  assert.equal(server.executions("streamed"), 1);
});

test("a run that has ended gives a repeat its stored answer, under the repeat's own id", async () => {
  const client = await PlainClient.open(server.url);
  const [answered] = (await readEvents(await client.script("stored", [], keyed("two")))).events;
  const repeat = await (await client.script("stored", [], keyed("two"))).json();
  assert.deepEqual(repeat.result, answered.message.result);
  assert.equal(repeat.id, answered.message.id + 1);
  assert.equal(server.executions("stored"), 1);
});

test("a run whose request failed is what a repeat is answered from", async () => {
  const client = await PlainClient.open(server.url);
  const post = { cutBeforeHeaders: true, execute: true, times: 1 };
  const options = { post, ...keyed("three") };
  await assert.rejects(client.script("failed", [{ wait: 30 }, { message: "a" }], options));
  const { events } = await readEvents(await client.script("failed", [], options));
  assert.deepEqual(texts(events), ["a"]);
  assert.equal(events.at(-1).message.result.structuredContent.execution, 1);
  const always = { post: { cutBeforeHeaders: true, execute: true }, ...keyed("four") };
  for (let n = 0; n < 2; n += 1) await assert.rejects(client.script("always", [], always));
  assert.deepEqual([server.executions("failed"), server.executions("always")], [1, 1]);
});

test("another key, none, or another session is another call", async () => {
  const client = await PlainClient.open(server.url);
  const other = await PlainClient.open(server.url);
  const calls = [
    [client, keyed("five")],
    [client, keyed("six")],
    [client, {}],
    [client, {}],
    [other, keyed("five")],
  ];
  for (const [by, options] of calls) await readEvents(await by.script("others", [], options));
  assert.equal(server.executions("others"), 5);
});

test("a repeat in JSON mode waits for the answer, and a cancel of it stops the run", async () => {
  const client = await PlainClient.open(server.url);
  const json = { post: { json: true }, ...keyed("seven") };
  const both = [1, 2].map(() => client.script("json twice", [{ wait: 30 }], json));
  const [one, two] = await Promise.all(both.map(async (response) => (await response).json()));
  assert.deepEqual(two.result, one.result);
  assert.equal(server.executions("json twice"), 1);
  const steps = [{ message: "a" }, { wait: 20 }, { cut: "fin" }, { wait: 60_000 }];
  await readEvents(await client.script("stopped", steps, keyed("eight")));
  const repeat = await client.script("stopped", steps, keyed("eight"));
  const { id } = server.log.findLast((entry) => entry.key === "stopped");
  await client.post({ method: "notifications/cancelled", params: { requestId: id } });
  assert.deepEqual(texts((await readEvents(repeat)).events), ["a"]);
});

test("a question of the server's waits for the POSTed answer", async () => {
  const client = await PlainClient.open(server.url);
  const ask = { method: "elicitation/create", params: { message: "Which?" } };
  const response = await client.script("asked", [{ ask }]);
  const reader = response.body.getReader();
  const question = JSON.parse(/data: (.*)/.exec(new TextDecoder().decode((await reader.read()).value))[1]);
  assert.equal(question.method, "elicitation/create");
  assert.equal((await client.post({ id: question.id, result: { action: "accept" } })).status, 202);
  const answer = JSON.parse(/data: (.*)/.exec(new TextDecoder().decode((await reader.read()).value))[1]);
  assert.deepEqual(answer.result.structuredContent.answers, [{ action: "accept" }]);
});

test("a cancelled call is recorded, stops and gets no answer", async () => {
  const client = await PlainClient.open(server.url);
  const response = await client.script("cancelled", [{ message: "a" }, { wait: 60_000 }]);
  const { id } = server.log.findLast((entry) => entry.key === "cancelled");
  await client.post({ method: "notifications/cancelled", params: { requestId: id, reason: "enough" } });
  assert.equal((await readEvents(response)).events.length, 1);
  assert.equal(server.log.findLast((entry) => entry.cancels === id).key, "cancelled");
});

test("headers are checked: accept, content type, session and protocol version", async () => {
  const client = await PlainClient.open(server.url);
  const ping = { id: 99, method: "ping" };
  const status = async (headers) => (await client.post(ping, headers)).status;
  assert.equal(await status({}), 200);
  assert.equal(await status({ accept: "application/json" }), 406);
  assert.equal(await status({ "content-type": "text/plain" }), 415);
  assert.equal(await status({ "mcp-session-id": "gone" }), 404);
  assert.equal(await status({ "mcp-protocol-version": "2025-06-18" }), 400);
  assert.equal((await client.delete()).status, 200);
  assert.equal(await status({}), 404);
});

test("the handshake can be broken too, by the address", async () => {
  const faults = encodeURIComponent(JSON.stringify({ initialize: { status: 503 } }));
  const response = await fetch(`${server.url}?faults=${faults}`, {
    method: "POST",
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize" }),
  });
  assert.equal(response.status, 503);
});

test("counts and log can be read from a page of any origin", async () => {
  const preflight = await fetch(server.url, { method: "OPTIONS" });
  assert.equal(preflight.status, 204);
  assert.equal(preflight.headers.get("access-control-allow-origin"), "*");
  assert.match(preflight.headers.get("access-control-allow-headers"), /last-event-id/);
  const client = await PlainClient.open(server.url);
  const response = await client.script("counted", []);
  assert.match(response.headers.get("access-control-expose-headers"), /mcp-session-id/);
  await readEvents(response);
  const ask = async (path) => (await fetch(`${server.origin}/control/${path}`)).json();
  assert.deepEqual(await ask("executions?key=counted"), { executions: 1 });
  const { log } = await ask("log?key=counted");
  assert.deepEqual([log[0].method, log[0].rpc, log[0].status], ["POST", "tools/call", 200]);
  await fetch(`${server.origin}/control/reset`, { method: "POST" });
  assert.deepEqual(await ask("executions?key=counted"), { executions: 0 });
});

test("a typing error in a script is an answer, not a run", async () => {
  const client = await PlainClient.open(server.url);
  const { error } = await (await client.script("typo", [{ mesage: "a" }])).json();
  assert.match(error.message, /Unknown step/);
  assert.equal(server.executions("typo"), 0);
});
