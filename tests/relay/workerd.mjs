// The relay as a Worker, by `wrangler dev`, in a folder of its own.
import { cp, mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startWrangler } from "../packaging/cases.mjs";

const RELAY = fileURLToPath(new URL("../../www/relay", import.meta.url));
const PACKAGE = fileURLToPath(new URL("../../target/npm", import.meta.url));

/** A folder as it is after `npm install`. */
export async function folder() {
  const home = await mkdtemp(join(tmpdir(), "landfall-relay-"));
  await cp(RELAY, home, { recursive: true, filter: (file) => !file.includes("node_modules") });
  await mkdir(join(home, "node_modules"));
  await symlink(PACKAGE, join(home, "node_modules", "landfall"));
  return { home, remove: () => rm(home, { recursive: true, force: true }) };
}

/** A Worker in it: `{ url, output(), stop() }`. What it stores is in the folder. */
export async function startWorker(home, vars, script = "worker.mjs") {
  const given = Object.entries(vars).flatMap(([name, value]) => ["--var", `${name}:${value}`]);
  const worker = await startWrangler(home, [
    script,
    "--config",
    "wrangler.toml",
    ...given,
    "--persist-to",
    join(home, "stored"),
  ]);
  return { ...worker, url: `${worker.url}/mcp` };
}
