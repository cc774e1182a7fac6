// cli.mjs [--url URL] [--items N] [--checkpoint-every N] [--log-level DEBUG|INFO|WARNING|ERROR]
// Lists a server's tools, calls its process_batch, and prints messages and the result.

import { parseArgs } from "node:util";
import { connect, ServerError, ToolCallFailedError } from "../../target/npm/entry/index.js";

const LEVELS = ["DEBUG", "INFO", "WARNING", "ERROR"];
const USAGE =
  "usage: cli.mjs [--url http://localhost:3000/mcp] [--items 10] [--checkpoint-every 3] [--log-level INFO]";

function readArguments() {
  const { values } = parseArgs({
    options: {
      url: { type: "string", default: "http://localhost:3000/mcp" },
      items: { type: "string", default: "10" },
      "checkpoint-every": { type: "string", default: "3" },
      "log-level": { type: "string", default: "INFO" },
    },
  });
  return {
    url: new URL(values.url),
    items: wholeNumber("--items", values.items),
    checkpointEvery: wholeNumber("--checkpoint-every", values["checkpoint-every"]),
    level: levelNamed(values["log-level"]),
  };
}

function wholeNumber(name, text) {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 1) throw new TypeError(`${name}: ${text} is no count`);
  return number;
}

function levelNamed(text) {
  const level = LEVELS.indexOf(text.toUpperCase());
  if (level < 0) throw new TypeError(`--log-level: ${text} is none of ${LEVELS.join(", ")}`);
  return level;
}

/** The level and the words of one event of the call. */
function describe(event) {
  switch (event.type) {
    case "message":
      return [levelOf(event.message.params?.level), textOf(event.message)];
    case "progress":
      return ["INFO", `progress ${event.progress}${event.total === undefined ? "" : `/${event.total}`}`];
    case "polling":
      return ["INFO", `the server closed the stream; back in ${Math.round(event.waitMs)} ms`];
    case "disconnected":
      return ["WARNING", `connection lost (${event.cause})`];
    case "reconnecting":
      return ["WARNING", `attempt ${event.attempt} to resume in ${Math.round(event.waitMs)} ms`];
    case "resumed":
      return ["INFO", `resumed, events replayed: ${event.replayed}`];
    case "gap":
    case "event_skipped":
    case "warning":
      return ["WARNING", JSON.stringify(event)];
    default:
      return ["DEBUG", JSON.stringify(event)];
  }
}

/** One of our four for one of the protocol's eight. */
function levelOf(level) {
  if (level === "debug") return "DEBUG";
  if (level === "info" || level === "notice" || level === undefined) return "INFO";
  return level === "warning" ? "WARNING" : "ERROR";
}

function textOf({ method, params }) {
  if (method !== "notifications/message") return `${method} ${JSON.stringify(params ?? {})}`;
  return typeof params.data === "string" ? params.data : JSON.stringify(params.data);
}

async function run({ url, items, checkpointEvery, level }) {
  const print = (name, text) => {
    if (LEVELS.indexOf(name) >= level) console.log(`${name.padEnd(7)} ${text}`);
  };
  const session = await connect(url, { era: "resumable", timeouts: { handshakeMs: 5_000 } });
  try {
    const server = session.serverInfo?.name ?? "a server without a name";
    print("INFO", `connected to ${server}, protocol ${session.protocolVersion}`);
    const tools = await session.listTools();
    print("INFO", `tools: ${tools.map(({ name }) => name).join(", ")}`);
    const call = session.callTool("process_batch", { items, checkpoint_every: checkpointEvery });
    for await (const event of call) print(...describe(event));
    const { content = [], isError } = await call.result;
    for (const { text } of content) if (text !== undefined) console.log(text);
    return isError !== true;
  } finally {
    await session.close();
  }
}

async function main() {
  let options;
  try {
    options = readArguments();
  } catch (error) {
    console.error(`${error.message}\n${USAGE}`);
    process.exitCode = 2;
    return;
  }
  try {
    process.exitCode = (await run(options)) ? 0 : 1;
  } catch (error) {
    if (error instanceof ToolCallFailedError) {
      console.error(`${error.method} failed: ${error.reason} (${error.outcome}): ${error.message}`);
    } else if (error instanceof ServerError) {
      console.error(`the server answered with error ${error.code}: ${error.message}`);
    } else {
      throw error;
    }
    process.exitCode = 1;
  }
}

await main();
