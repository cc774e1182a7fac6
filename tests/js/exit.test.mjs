// A process in which close() was forgotten: it ends by itself when nothing is pending, and not before.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";

const entry = new URL("../../target/npm/entry/index.js", import.meta.url).href;
// It would wait for ever.
const patienceMs = 20_000;

/** A server whose GET stream is opened by `listen`; a call is answered once a GET came, where one is `wanted`. */
async function serve(t, listen, wanted) {
  let listening;
  const listened = new Promise((resolve) => {
    listening = resolve;
  });
  const server = createServer(async (request, response) => {
    if (request.method === "GET") {
      listen(response);
      setTimeout(listening, 100);
      return;
    }
    const { id, method } = JSON.parse((await request.toArray()).join(""));
    if (id === undefined) return response.writeHead(202).end();
    const begun = {
      protocolVersion: "2025-11-25",
      capabilities: {},
      serverInfo: { name: "s", version: "1" },
    };
    if (method === "tools/call" && wanted) await listened;
    if (method === "tools/call") await new Promise((resolve) => setTimeout(resolve, 200));
    const result = method === "initialize" ? begun : { content: [] };
    response.setHeader("content-type", "application/json").setHeader("mcp-session-id", "s1");
    return response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${server.address().port}/mcp`;
}

/** Runs a program to its end: what it printed. */
async function run(program) {
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
    timeout: patienceMs,
  });
  const printed = [];
  child.stdout.on("data", (text) => printed.push(text));
  const [code, signal] = await once(child, "close");
  assert.deepEqual([code, signal], [0, null], "it ends by itself");
  return printed.join("");
}

const program = (url, options) => `
import { connect } from ${JSON.stringify(entry)};
const session = await connect(${JSON.stringify(url)}, ${options});
const { content } = await session.callTool("work");
console.log(content.length);
`;

const open = (response) =>
  response.writeHead(200, { "content-type": "text/event-stream" }).write(": hello\n\n");

test("a forgotten close() keeps no process alive when nothing is pending", async (t) => {
  const url = await serve(t, open, false);
  assert.equal(await run(program(url, "{}")), "0\n");
});

test("nor does a stream that is open for what belongs to no call", async (t) => {
  const url = await serve(t, open, true);
  assert.equal(await run(program(url, "{ listen: true }")), "0\n");
});

test("nor the wait before that is opened again", async (t) => {
  const url = await serve(t, (response) => response.writeHead(503, { "retry-after": "3600" }).end(), true);
  assert.equal(await run(program(url, "{ listen: true }")), "0\n");
});
