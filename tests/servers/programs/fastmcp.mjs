// fastmcp of npm, with its sessions and its event store. PORT
import { setTimeout as sleep } from "node:timers/promises";
import { FastMCP } from "fastmcp";
import { z } from "zod";
import { note } from "./journal.mjs";

const server = new FastMCP({ name: "servers", version: "1.0.0" });
const key = z.string();
const parameters = z.object({ steps: z.number(), interval_ms: z.number(), key });

async function execute({ steps, interval_ms, key }, { log, reportProgress }) {
  note("ran", key);
  for (let step = 1; step <= steps; step += 1) {
    await sleep(interval_ms);
    await reportProgress({ progress: step, total: steps });
    log.info(`${key}: step ${step}`);
  }
  return `${steps} steps`;
}

server.addTool({ name: "count", description: "counts", parameters, execute });
server.addTool({
  name: "recite",
  description: "counts, and does nothing",
  parameters,
  annotations: { readOnlyHint: true },
  execute,
});
server.addTool({
  name: "rest",
  description: "takes a minute",
  parameters: z.object({ key }),
  async execute({ key }, { reportProgress, signal }) {
    note("ran", key);
    await reportProgress({ progress: 1 });
    try {
      await sleep(60_000, undefined, { signal });
    } catch (error) {
      note("cancelled", key);
      throw error;
    }
    return "rested";
  },
});
server.addTool({
  name: "grow",
  description: "brings a new tool",
  parameters: z.object({ name: z.string() }),
  async execute({ name }) {
    server.addTool({ name, description: name, execute: async () => name });
    return name;
  },
});
await server.start({
  transportType: "httpStream",
  httpStream: { port: Number(process.argv[2]), endpoint: "/mcp" },
});
