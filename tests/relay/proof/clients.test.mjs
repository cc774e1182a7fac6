// Clients that know nothing of a relay: the AI SDK's, Python's, and an official one that takes up what another began. Those
// of landfall and of the official SDKs are in ../clients.test.mjs.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { aiSdk1, aiSdk2 } from "../../drop-in/clients/ai-sdk.mjs";
import { cutter } from "../cutter.mjs";
import { stage, until } from "../stage.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const textOf = ({ content }) => content[0].text;

function ofAiSdk(sdk) {
  let at;
  let line;
  let client;
  before(async () => {
    at = await stage();
    line = await cutter(at.url);
    client = await sdk.open(sdk.official(new URL(line.url), {}), {
      capabilities: { elicitation: {} },
      answers: { "elicitation/create": async () => ({ action: "accept", content: { name: "Ann" } }) },
    });
  });
  after(async () => {
    await client?.close();
    await line?.close();
    await at?.close();
  });

  test("lists and calls", async () => {
    assert.ok((await client.list()).tools.length > 3);
    assert.equal(textOf(await client.call("count", { key: "c" })), "run 1");
  });

  test("is asked", async () => {
    const { action, content } = JSON.parse(textOf(await client.call("ask", { key: "asked" })));
    assert.deepEqual([action, content], ["accept", { name: "Ann" }]);
  });

  // It reads no ids, so that nothing can be resumed. Nothing is run again, either.
  test("loses a call that is cut, whose tool runs once, and goes on with the next", async () => {
    client.call("hold", { key: "cut" }).catch(() => {});
    await until(() => at.upstream.runs("cut") === 1, "the run");
    line.cut(100);
    at.upstream.release("cut");
    const next = () => client.call("count", { key: "next" }).catch(() => undefined);
    assert.equal(textOf(await until(next, "the next")), "run 1");
    assert.equal(at.upstream.runs("cut"), 1);
  });
}

for (const sdk of [aiSdk1, aiSdk2]) describe(sdk.name, () => ofAiSdk(sdk));

/** What the program tells, by name; `heard(what)` is called as it does. */
async function play(program, args, heard) {
  const [python, script] = program;
  const child = spawn(python, [script, ...args], {
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: "1" },
    timeout: 50_000,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let errors = "";
  child.stderr.on("data", (chunk) => {
    errors += chunk;
  });
  const told = {};
  createInterface({ input: child.stdout }).on("line", (line) => {
    const [what, value] = JSON.parse(line);
    told[what] = value;
    heard(what);
  });
  const code = await new Promise((resolve) => child.once("close", resolve));
  assert.equal(code, 0, errors);
  return told;
}

const PYTHON = here("../../../.tools/venv/bin/python");

for (const mode of ["auto", "legacy"])
  test(`Python's client, ${mode}, lists, calls, is asked, and a cut in mid-call loses nothing`, {
    skip: existsSync(PYTHON) ? undefined : "no Python",
  }, async (t) => {
    const at = await stage();
    const line = await cutter(at.url);
    t.after(async () => {
      await line.close();
      await at.close();
    });
    at.upstream.release("steps");
    const cutInMidCall = async () => {
      await until(() => at.upstream.runs("cut") === 1, "the run");
      line.cut(300);
      setTimeout(() => at.upstream.release("cut"), 100);
    };
    let cutting;
    const told = await play([PYTHON, here("client.py")], [line.url, mode], (what) => {
      if (what === "asked") cutting = cutInMidCall();
    });
    await cutting;
    assert.ok(told.tools.includes("hold"));
    const { call, held, progress, asked, cut: whole, after: next } = told;
    assert.deepEqual(
      { call, held, progress, asked, whole, next },
      {
        ...{ call: "run 1", held: "held steps", progress: [1, 2, 3] },
        ...{ asked: { name: "Ann" }, whole: "held cut", next: "run 1" },
      },
    );
    assert.equal(at.upstream.runs("cut"), 1);
  });

/** An official Client: its transport, and the ids of its requests. */
async function official(url, sessionId) {
  const client = new Client({ name: "resumed", version: "1" });
  const transport = new StreamableHTTPClientTransport(new URL(url), { sessionId });
  const ids = [];
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if (message.id !== undefined) ids.push(message.id);
    return send(message, options);
  };
  await client.connect(transport);
  const call = (name, args, options) => client.callTool({ name, arguments: args }, undefined, options);
  return { client, transport, ids, call };
}

test("an official Client takes up the session, and the call under way, of one that is gone; its ids begin at 0", async (t) => {
  const at = await stage();
  t.after(() => at.close());
  const first = await official(at.url);
  let token;
  const asked = first.call(
    "hold",
    { key: "left", steps: 2 },
    {
      onprogress() {},
      onresumptiontoken: (given) => {
        token = given;
      },
    },
  );
  asked.catch(() => {});
  await until(() => at.upstream.runs("left") === 1 && token !== undefined, "its first event");
  const { sessionId } = first.transport;
  await first.client.close();

  const second = await official(at.url, sessionId);
  const own = await second.call("count", { key: "own" });
  assert.deepEqual([textOf(own), second.ids], ["run 1", [0]]);
  at.upstream.release("left");
  const params = { name: "hold", arguments: { key: "left", steps: 2 } };
  const taken = await second.client.request({ method: "tools/call", params }, CallToolResultSchema, {
    resumptionToken: token,
  });
  assert.equal(textOf(taken), "held left");
  assert.equal(textOf(await second.call("count", { key: "own" })), "run 2");
  assert.equal(at.upstream.runs("left"), 1);
  await second.client.close();
});
