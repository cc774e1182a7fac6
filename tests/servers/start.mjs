// Starts a server of others as a process of its own, which can be killed and started again where it was.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { within } from "./within.mjs";

const START_MS = 60_000;

/**
 * `command(port)` gives the program and its arguments, and `PORT` says the same; it tells its port, where 0 was asked for, by a line
 * `{"port": N}`. `path` is where it answers. Returns `{ url, counts(key), kill(), startAgain(), stop() }`: `counts` tells how often tools ran and
 * were cancelled for that key.
 */
export async function start({ command, path = "/mcp" }) {
  const folder = await mkdtemp(join(tmpdir(), "landfall-servers-"));
  const journal = join(folder, "journal");
  await writeFile(journal, "");
  const spawned = (port) => launch(command(port), { PORT: String(port), SERVERS_JOURNAL: journal });
  let { child, port } = await spawned(0).catch(async (error) => {
    await rm(folder, { recursive: true });
    throw error;
  });
  const end = async (signal) => {
    const ended = child.exitCode === null && child.signalCode === null ? once(child, "exit") : undefined;
    child.kill(signal);
    await ended;
  };
  return {
    port,
    url: `http://127.0.0.1:${port}${path}`,
    async counts(key) {
      const lines = (await readFile(journal, "utf8")).split("\n").filter(Boolean).map(JSON.parse);
      const count = (what) => lines.filter((line) => line.what === what && line.key === key).length;
      return { ran: count("ran"), cancelled: count("cancelled") };
    },
    /** As by a crash. */
    kill: () => end("SIGKILL"),
    async startAgain() {
      ({ child, port } = await spawned(port));
    },
    async stop() {
      await end("SIGKILL");
      await rm(folder, { recursive: true });
    },
  };
}

/** Its stdin is our pipe: if we die, it ends, and the server with it. */
async function launch([program, ...args], env) {
  const child = spawn(program, args, {
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: "1", ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const said = [];
  child.stderr.on("data", (chunk) => said.push(chunk));
  const failed = once(child, "exit").then(([code]) => {
    throw new Error(`${args.join(" ")} ended with ${code}: ${Buffer.concat(said)}`);
  });
  failed.catch(() => {});
  try {
    return { child, port: await within(START_MS, "it tells no port", Promise.race([portOf(child), failed])) };
  } catch (error) {
    child.kill("SIGKILL");
    // Of what never ran, nothing else closes its pipes.
    for (const pipe of child.stdio) pipe.destroy();
    throw error;
  }
}

function portOf(child) {
  return new Promise((resolve) => {
    // Read to its end: a program whose pipe is full waits.
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (!/^\{"port": ?\d+\}$/.test(line)) return;
      resolve(JSON.parse(line).port);
    });
  });
}
