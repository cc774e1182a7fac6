// The two programs of www/demo, as a person runs them.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { startPythonServer } from "./python-server.mjs";

function run(program, ...args) {
  const path = fileURLToPath(new URL(`../../www/demo/${program}`, import.meta.url));
  return new Promise((resolve) => {
    execFile(process.execPath, [path, ...args], { timeout: 60_000 }, (error, stdout, stderr) => {
      resolve({ code: error ? error.code : 0, lines: stdout.split("\n"), stderr });
    });
  });
}

test("the demo carries its call through the cuts, and prints a plain timeline where there is no terminal", async () => {
  const { code, lines, stderr } = await run("demo.mjs", "--once");
  assert.equal(stderr, "");
  assert.equal(code, 0);
  const timeline = lines.filter((line) => /^ *\d+\.\d\ds {2}[█░]{16} +\d+\/24 {2}/.test(line));
  const count = (pattern) => timeline.filter((line) => pattern.test(line)).length;
  assert.equal(count(/ cut/), 3);
  assert.ok(count(/resumed from k\d+\/\d+/) >= 3);
  assert.match(timeline.at(-1), /result: 24 items processed$/);
  assert.ok(lines.every((line) => line.length <= 100 && !line.includes("\x1b")));
});

test("the command line client lists tools, prints messages and the result, and keeps to its log level", async () => {
  const python = await startPythonServer();
  try {
    const args = ["--url", python.url, "--items", "4", "--checkpoint-every", "2"];
    const loud = await run("cli.mjs", ...args);
    assert.equal(loud.code, 0);
    assert.match(loud.lines.join("\n"), /tools: process_batch/);
    assert.equal(loud.lines.filter((line) => /\[\d\/4\] item/.test(line)).length, 4);
    const quiet = await run("cli.mjs", ...args, "--log-level", "error");
    assert.deepEqual(quiet.lines, ["4 items processed", ""]);
  } finally {
    await python.stop();
  }
});

test("the command line client says what is wrong, and with what", async () => {
  const wrong = await run("cli.mjs", "--items", "many");
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /--items: many/);
  const nobody = await run("cli.mjs", "--url", "http://127.0.0.1:9/mcp");
  assert.equal(nobody.code, 1);
  assert.match(nobody.stderr, /^initialize failed: network_error/);
});
