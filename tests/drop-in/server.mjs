// A fault server of either era, with all that came to it: the log, and how often a tool ran.
import { createServer } from "node:http";
import { FaultServer } from "../server/server.mjs";
import { modernFront, modernSteps, openBehind } from "./modern.mjs";

/**
 * `{ url, log, executions(key), requestsOf(key), steps(list), close() }`. `faults` is what the address breaks;
 * `steps` makes a script one of the era's.
 */
export async function serveEra(era, faults) {
  const fault = new FaultServer();
  const front = era === "modern" ? modernFront() : () => false;
  const server = createServer((req, res) => front(req, res, fault.log) || fault.handle(req, res));
  server.keepAliveTimeout = 65_000;
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(`http://127.0.0.1:${server.address().port}/mcp`);
  if (faults) url.searchParams.set("faults", JSON.stringify(faults));
  if (era === "modern") await openBehind(url);
  return {
    url,
    log: fault.log,
    executions: (key) => fault.executions(key),
    steps: era === "modern" ? modernSteps : (steps) => steps,
    async close() {
      fault.reset();
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
