// Starts server.py, or another program that takes its options, in the virtual environment that the set-up made.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const PYTHON = process.env.INTEROP_PYTHON ?? here("../../.tools/venv/bin/python");

/** Returns { url, executions(key), cancelled(key), stop() }. */
export async function startPythonServer({ retryMs = 50, program = here("server.py") } = {}) {
  if (!existsSync(PYTHON)) {
    throw new Error(`${PYTHON} is missing: "make test" makes it, from tests/interop/requirements.txt`);
  }
  // Its stdin is our pipe: if we die, it ends, and the server with it.
  const child = spawn(PYTHON, ["-B", program, "--retry-ms", String(retryMs), "--until-stdin-ends"], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const { url } = JSON.parse(await firstLine(child, program));
  const ask = async (key) => {
    const response = await fetch(new URL(`/control/executions?key=${encodeURIComponent(key)}`, url));
    return response.json();
  };
  return {
    url,
    executions: async (key) => (await ask(key)).executions,
    cancelled: async (key) => (await ask(key)).cancelled,
    async stop() {
      child.stdin.end();
      await ended;
    },
  };
}

function firstLine(child, program) {
  return new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", resolve);
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`${program} ended with ${code} before it was ready`)));
  });
}
