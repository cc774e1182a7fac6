// The runtimes and bundlers of this repository, run in the folder of a project that has none of its own.
import { execFile, spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const LIMIT_MS = 120_000;

// No colours, no prompts, no questions to anybody's server about updates.
const env = {
  ...process.env,
  ...{ NO_COLOR: "1", CI: "1", DENO_NO_UPDATE_CHECK: "1" },
  ...{ WRANGLER_SEND_METRICS: "false", CLOUDFLARE_CF_FETCH_ENABLED: "false" },
};
delete env.FORCE_COLOR;
delete env.NODE_TEST_CONTEXT;

const execute = promisify(execFile);

/** A file among the installed packages. */
export const installedFile = (path) => join(ROOT, "node_modules", path);

/** A program among those of the installed packages. */
export const bin = (name) => installedFile(`.bin/${name}`);

/** Runs a program to its end; resolves with its output, and rejects with all that it said. */
export async function run([program, ...args], cwd) {
  try {
    const { stdout } = await execute(program, args, { cwd, env, timeout: LIMIT_MS, maxBuffer: 64 << 20 });
    return stdout;
  } catch (error) {
    error.message += `\n${error.stdout}`;
    throw error;
  }
}

/**
 * Starts a server that says where it listens: resolves with `{ url, output(), stop() }`. What it started itself ends
 * with it.
 */
export async function start([program, ...args], cwd) {
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  const exited = new Promise((resolve) => child.once("exit", resolve));
  const kill = () => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid);
  };
  process.once("exit", kill);
  let output = "";
  const address = new Promise((resolve, reject) => {
    const hear = (chunk) => {
      output += chunk;
      const [url] = /http:\/\/(?:127\.0\.0\.1|localhost):\d+/.exec(output) ?? [];
      if (url) resolve(url);
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.once("error", reject);
    void exited.then(() => reject(new Error(`${program} ended: ${output}`)));
    setTimeout(() => reject(new Error(`${program} does not listen: ${output}`)), LIMIT_MS).unref();
  });
  const stop = async () => {
    process.off("exit", kill);
    kill();
    await exited;
  };
  try {
    return { url: await address, output: () => output, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
