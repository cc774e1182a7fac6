// What the scenarios make of servers and clients that hang, or never start.
import assert from "node:assert/strict";
import { test } from "node:test";
import { playAll } from "./run.mjs";

const stub = (name, more) => ({
  name,
  open: async () => ({ list: async () => [], close: async () => {}, ...more }),
});
const oneCall = {
  name: "call",
  play: async (stage) => [await stage.call("count", {}).line()],
  expected: ["count: answer, 0 runs"],
};
/** A server that listens, and no more. */
const mute = {
  name: "mute",
  command: (port) => [
    ...[process.execPath, "-e"],
    `const s = require("node:net").createServer().listen(${port}, "127.0.0.1", () => console.log(JSON.stringify(s.address())));
     process.stdin.on("end", () => process.exit()).resume();`.replace(
      "s.address()",
      "{ port: s.address().port }",
    ),
  ],
};
const linesOf = async (kind, client, scenario = oneCall) => {
  const bounds = { callMs: 200, playMs: 600, closeMs: 200 };
  const rows = await playAll(kind, { clients: [client], scenarios: [scenario], bounds });
  return rows.map(({ lines }) => lines.join("; "));
};

test("a call, a scenario or an end that hangs fails its row, and says which", async () => {
  const never = () => new Promise(() => {});
  const idle = { ...oneCall, play: never };
  assert.deepEqual(await linesOf(mute, stub("a call", { call: never })), [
    "count: no outcome within 0.2 s, 0 runs",
  ]);
  const answering = { call: async () => ({}) };
  assert.deepEqual(await linesOf(mute, stub("a scenario", answering), idle), [
    "Error: the scenario did not end within 0.6 s",
  ]);
  assert.deepEqual(await linesOf(mute, stub("an end", { ...answering, close: never })), [
    "count: answer, 0 runs; Error: close() did not end within 0.2 s",
  ]);
});

test("a server that does not start fails each of its rows with what it said", async () => {
  const command = () => [process.execPath, "-e", 'console.error("no such thing"); process.exit(3)'];
  const [line] = await linesOf({ name: "broken", command }, stub("any", {}));
  assert.match(line, /^not started: Error: .*ended with 3: no such thing/);
  const [absent] = await linesOf({ name: "absent", command: () => ["/nowhere/server"] }, stub("any", {}));
  assert.match(absent, /^not started: Error: spawn .*ENOENT/);
});
