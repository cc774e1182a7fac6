// The entries of the package: the same exports, and where each has its module from.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { createFaultServer } from "../server/server.mjs";
import { timed } from "../support/timed.mjs";
import { stubServer } from "./support/stub-server.mjs";

const folder = new URL("../../target/npm/entry/", import.meta.url);
const wasm = readFileSync(new URL("landfall.wasm", folder));

/** A session is opened and one tool is called by an entry's `connect`. */
async function works({ connect }) {
  const server = stubServer();
  const session = await connect("https://server.test/mcp", { era: "resumable", fetch: server.fetch });
  const result = await session.callTool("work").result;
  assert.equal(result.content[0].text, "done");
  await session.close();
}

test("every entry has the same exports", async () => {
  const expected = [
    ...["ConfigError", "LandfallTransport", "ServerError", "ToolCallFailedError", "connect"],
    "sdkRequestOptions",
  ];
  for (const entry of ["index", "url", "url-node", "slim"]) {
    const names = Object.keys(await import(new URL(`${entry}.js`, folder))).sort();
    assert.deepEqual(
      names.filter((name) => name !== "initializeWasm"),
      expected,
      entry,
    );
    assert.equal(names.includes("initializeWasm"), entry === "slim");
  }
});

const ENTRIES = ["index", "url", "url-node", "slim", "v1", "v2"];

test("the error classes of every entry know the errors of every other", async () => {
  const entries = await Promise.all(ENTRIES.map((entry) => import(new URL(`${entry}.js`, folder))));
  const event = {
    type: "tool_call_failed",
    message: "m",
    reason: "closed",
    outcome: "unknown",
    diagnostics: {},
  };
  for (const theirs of entries) {
    const errors = {
      ToolCallFailedError: new theirs.ToolCallFailedError(event),
      ServerError: new theirs.ServerError({ code: 1, message: "m" }),
      ConfigError: new theirs.ConfigError("url", "m"),
    };
    for (const ours of entries)
      for (const [name, error] of Object.entries(errors))
        for (const type of Object.keys(errors))
          assert.equal(error instanceof ours[type], type === name, `${name} instanceof ${type}`);
    assert.ok(!(new Error("m") instanceof theirs.ServerError) && !(null instanceof theirs.ConfigError));
    class Own extends theirs.ServerError {}
    assert.ok(!(errors.ServerError instanceof Own), "a class made of one asks for itself");
    assert.ok(new Own({ code: 1, message: "m" }) instanceof theirs.ServerError);
  }
});

test("the classes have their names in the minified files", async () => {
  for (const entry of ENTRIES) {
    const exported = await import(new URL(`${entry}.js`, folder));
    for (const name of ["ConfigError", "LandfallTransport", "ServerError", "ToolCallFailedError"])
      assert.equal(exported[name].name, name, entry);
  }
});

test("of an error that nobody catches a terminal shows no whole file", () => {
  for (const entry of ENTRIES) {
    const program = `import { LandfallTransport } from ${JSON.stringify(new URL(`${entry}.js`, folder))}; new LandfallTransport("nowhere");`;
    const { stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
      encoding: "utf8",
    });
    assert.match(stderr, /ConfigError/);
    assert.ok(stderr.length < 4_000, `${entry}: ${stderr.length} characters`);
  }
});

test("the entries with the module inside compile it once for all of them", async (t) => {
  await works(await import(new URL("index.js", folder)));
  t.mock.method(WebAssembly, "compile", () => Promise.reject(new Error("compiled again")));
  for (const entry of ["v1", "v2"]) {
    const { LandfallTransport } = await import(new URL(`${entry}.js`, folder));
    const transport = new LandfallTransport("https://server.test/mcp", { fetch: stubServer().fetch });
    await transport.start();
    await transport.close();
  }
});

test("the inline entry and the one for Node bring their module along", async () => {
  await works(await import(new URL("index.js", folder)));
  await works(await import(new URL("url-node.js", folder)));
});

test("the entry with a file fetches it from beside the JavaScript", async (t) => {
  const asked = [];
  t.mock.method(globalThis, "fetch", async (url) => {
    asked.push(String(url));
    return new Response(wasm, { headers: { "content-type": "application/wasm" } });
  });
  await works(await import(new URL("url.js", folder)));
  assert.deepEqual(asked, [String(new URL("landfall.wasm", folder))]);
});

test("the slim entry says what it lacks, then takes a module in any form", async () => {
  const slim = await import(new URL("slim.js", folder));
  await assert.rejects(works(slim), { name: "ConfigError", option: "module", message: /initializeWasm/ });
  await assert.rejects(slim.initializeWasm(Promise.reject(new Error("no file"))), /no file/);
  await assert.rejects(works(slim), {
    name: "ToolCallFailedError",
    reason: "internal_error",
    outcome: "not_sent",
  });
  for (const nothing of [undefined, null, 5, "landfall.wasm", Promise.resolve(undefined)]) {
    await assert.rejects(slim.initializeWasm(nothing), { name: "ConfigError", option: "module" });
  }
  const response = () => new Response(wasm, { headers: { "content-type": "application/wasm" } });
  for (const [i, source] of [response(), Promise.resolve(wasm), new WebAssembly.Module(wasm)].entries()) {
    const fresh = await import(`${new URL("slim.js", folder)}?${i}`);
    await fresh.initializeWasm(source);
    await works(fresh);
  }
});

timed("a process ends by itself when its session was closed, or its connect failed", async (t) => {
  const server = await createFaultServer();
  t.after(() => server.close());
  const script = `
    import { connect } from ${JSON.stringify(String(new URL("index.js", folder)))};
    const session = await connect(${JSON.stringify(server.url)}, { era: "resumable" });
    await session.callTool("scripted", { key: "exit", steps: [{ message: "hi" }] }).result;
    session.callTool("scripted", { key: "left", steps: [{ prime: true }, { noAnswer: true }] });
    await session.close();
    const timeouts = { handshakeMs: 300 };
    await connect("http://127.0.0.1:1/", { era: "resumable", timeouts }).catch(() => {});
    console.log("closed");
  `;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  const started = performance.now();
  const [code] = await once(child, "exit");
  assert.equal(code, 0);
  assert.equal(output.trim(), "closed");
  assert.ok(performance.now() - started < 4_000, "nothing may keep the process");
});
