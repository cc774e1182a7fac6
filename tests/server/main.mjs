// node tests/server/main.mjs [--era legacy|modern|both|stateless|sse] [--port N] [--host H] [--until-stdin-ends]
// Prints {"url": "..."} as its first line; stops on SIGTERM, SIGINT or, if so told, when its stdin ends.

import { parseArgs } from "node:util";
import { createModernServer } from "./modern/server.mjs";
import { createFaultServer } from "./server.mjs";
import { createSseServer } from "./sse.mjs";

const ERAS = {
  legacy: createFaultServer,
  modern: createModernServer,
  both: (options) => createModernServer({ ...options, legacy: "sessions" }),
  stateless: (options) => createModernServer({ ...options, legacy: "stateless" }),
  sse: createSseServer,
};

const { values } = parseArgs({
  options: {
    era: { type: "string", default: "legacy" },
    port: { type: "string", default: "0" },
    host: { type: "string", default: "127.0.0.1" },
    "until-stdin-ends": { type: "boolean", default: false },
  },
});

const server = await ERAS[values.era]({ port: Number(values.port), host: values.host });
console.log(JSON.stringify({ url: server.url }));

async function stop() {
  await server.close();
  process.exit(0);
}
process.once("SIGTERM", stop);
process.once("SIGINT", stop);
if (values["until-stdin-ends"]) process.stdin.once("end", stop).resume();
