// The CPU of another process, as Linux keeps it.
import { readdirSync, readFileSync } from "node:fs";

/** Microseconds of all threads of these processes. A thread that has ended is not counted, but pools keep theirs. */
export function cpuOf(pids) {
  let nanoseconds = 0;
  for (const pid of pids) {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      nanoseconds += Number(schedule(pid, thread).split(" ")[0]);
    }
  }
  return nanoseconds / 1_000;
}

function schedule(pid, thread) {
  try {
    return readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8");
  } catch {
    // It ended since the list was read.
    return "0";
  }
}

/** The processes that this one has started, and theirs, whose command line has this word. */
export function descendants(word) {
  const parents = new Map();
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      // After the name, which may have blanks: the state, then the parent.
      const parent = Number(readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1).split(" ")[1]);
      parents.set(Number(pid), parent);
    } catch {
      // It ended since the list was read.
    }
  }
  const isOurs = (pid) => pid === process.pid || (parents.has(pid) && isOurs(parents.get(pid)));
  const named = (pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(word);
  return [...parents.keys()].filter((pid) => pid !== process.pid && isOurs(pid) && named(pid));
}
