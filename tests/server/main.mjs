// node tests/server/main.mjs [--port N] [--host H] [--until-stdin-ends]
// Prints {"url": "..."} as its first line; stops on SIGTERM, SIGINT or, if so told, when its stdin ends.

import { parseArgs } from "node:util";
import { createFaultServer } from "./server.mjs";

const { values } = parseArgs({
  options: {
    port: { type: "string", default: "0" },
    host: { type: "string", default: "127.0.0.1" },
    "until-stdin-ends": { type: "boolean", default: false },
  },
});

const server = await createFaultServer({ port: Number(values.port), host: values.host });
console.log(JSON.stringify({ url: server.url }));

async function stop() {
  await server.close();
  process.exit(0);
}
process.once("SIGTERM", stop);
process.once("SIGINT", stop);
if (values["until-stdin-ends"]) process.stdin.once("end", stop).resume();
