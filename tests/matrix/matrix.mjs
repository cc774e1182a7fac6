// matrix.mjs [FAULT]: every fault (or those whose name contains FAULT) against landfall and the clients that others
// wrote, as a Markdown table. Exit 0 only if landfall did what is expected of it.
import { aiSdk } from "./clients/ai-sdk.mjs";
import { landfall } from "./clients/landfall.mjs";
import { sdkV1 } from "./clients/sdk-v1.mjs";
import { sdkV2 } from "./clients/sdk-v2.mjs";
import { FAULTS } from "./faults.mjs";
import { differences, markdown } from "./report.mjs";
import { runAll } from "./run.mjs";

const NOTES = `Times run from the call; most faults strike after 0.2 s. The official clients were given a timeout of 7 s (60 s by
default); the AI SDK has none, and was watched for 9 s. "More GETs" were sent within 2.5 s after the outcome.

\\* landfall with shortened clocks: \`idleMs\` 1 000 instead of 45 000, \`callMs\` and \`recoveryMs\` 4 000 instead of
120 000. All else is at its defaults.`;

const faults = FAULTS.filter(({ name }) => name.includes(process.argv[2] ?? ""));
const columns = async (...clients) =>
  (await runAll(clients, faults)).map((rows, i) => ({ name: clients[i].name, rows }));

// What a rival leaves unhandled is its own affair; landfall runs first, and alone, and leaves nothing.
const unhandled = [];
process.on("unhandledRejection", (reason) => unhandled.push(reason));
const [ours] = await columns(landfall);
const left = unhandled.length;

// Node's warning of a timer that overflows says in the middle of the table what the table says.
process.removeAllListeners("warning");
const theirs = await columns(sdkV1, sdkV2, aiSdk);
console.log(markdown([ours, ...theirs], faults));
console.log(`\n${NOTES}`);

const wrong = faults.flatMap((fault, i) =>
  differences(ours.rows[i], fault).map((text) => `landfall, ${fault.name}: ${text}`),
);
if (left > 0) wrong.push(`landfall: ${left} unhandled rejections`);
for (const line of wrong) console.error(line);
// Not all of these clients let a process end.
process.exit(wrong.length === 0 && faults.length > 0 ? 0 : 1);
