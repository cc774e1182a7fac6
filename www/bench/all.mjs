// node www/bench/all.mjs [WORDS...]: all that `make bench` measures, one after the other, so that nothing else runs beside
// it; with words only what has one of them in its name, and not the core.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { onPath } from "../build/path.mjs";

const words = process.argv.slice(2);
const noProc = existsSync("/proc/self/schedstat")
  ? undefined
  : "the CPU of other processes is read from /proc";
const programs = [
  { name: "node" },
  { name: "workerd", skip: noProc },
  { name: "chromium", skip: noProc ?? (onPath("chromium") ? undefined : "no chromium") },
  { name: "core", skip: words.length > 0 ? "has no scenario" : undefined },
];

for (const { name, skip } of programs) {
  if (skip !== undefined) {
    console.log(`${name}: skipped, ${skip}\n`);
    continue;
  }
  const program = fileURLToPath(new URL(`${name}.mjs`, import.meta.url));
  const { status } = spawnSync(process.execPath, [program, ...words], { stdio: "inherit" });
  if (status !== 0) process.exitCode = 1;
  console.log();
}
