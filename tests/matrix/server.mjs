// A fault server of its own for each call, and what its log tells of it.
import { createServer } from "node:http";
import { FaultServer } from "../server/server.mjs";

/** A hint is met early only beyond what clocks and sockets may differ by. */
const TOLERANCE_MS = 20;

/** Serves one fault: `{ url, forgetSessions(), executions(), resumes(), comebackMs(hint), close() }`. */
export async function serve(fault) {
  const faults = new FaultServer();
  const gate = fault.gate?.() ?? (() => false);
  const server = createServer((req, res) => gate(req, res, faults.log) || faults.handle(req, res));
  server.keepAliveTimeout = 65_000;
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(`http://127.0.0.1:${server.address().port}/mcp`);
  if (fault.faults) url.searchParams.set("faults", JSON.stringify(fault.faults));
  const posted = () => faults.log.find(({ key }) => key === fault.name);
  const resumes = () => faults.log.filter(({ method, lastEventId }) => method === "GET" && lastEventId);
  return {
    url,
    forgetSessions: () => faults.reset(),
    executions: () => faults.executions(fault.name),
    resumes,
    comebackMs: (hint) => comebackMs(hint, posted(), resumes()),
    async close() {
      faults.reset();
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** How soon a client came back that was asked to wait longer; `undefined` for one that did as asked. */
function comebackMs({ ms, after }, posted, resumes) {
  const refused = resumes.findIndex(({ status }) => status === 429);
  const [from, to] =
    after === "close" ? [posted?.closedAt, resumes[0]?.at] : [resumes[refused]?.at, resumes[refused + 1]?.at];
  const waited = to - from;
  return waited < ms - TOLERANCE_MS ? waited : undefined;
}
