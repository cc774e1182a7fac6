// matrix.mjs [SERVER]: every scenario against the servers of others (or those whose name contains SERVER), as a table.
// Exit 0 only if all is as expected. `make servers` installs what it needs.
import { differences, markdown } from "./report.mjs";
import { playAll } from "./run.mjs";
import { missing, SERVERS } from "./servers.mjs";

// Where Debian keeps nginx and haproxy.
process.env.PATH += ":/usr/sbin";
const chosen = SERVERS.filter(({ name }) => name.includes(process.argv[2] ?? ""));
const absent = new Set(chosen.flatMap(missing));
if (absent.size > 0) {
  console.error(`not installed: ${[...absent].join(", ")}; "make servers" does it, where it can`);
  process.exit(1);
}

const unhandled = [];
process.on("unhandledRejection", (reason) => unhandled.push(reason));

const results = [];
for (const kind of chosen) results.push({ kind, rows: await playAll(kind) });

console.log(markdown(results));
const wrong = differences(results);
if (unhandled.length > 0) wrong.push(`${unhandled.length} unhandled rejections: ${unhandled[0]}`);
for (const line of wrong) console.error(line);
process.exit(wrong.length === 0 && results.length > 0 ? 0 : 1);
