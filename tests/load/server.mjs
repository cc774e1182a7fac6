// server.mjs: the server of the load, in a process of its own. It answers its parent over the channel of `fork`.
import { createServer } from "node:http";
import { FaultServer } from "../server/server.mjs";
import { bursts, plain, waiting } from "./plain.mjs";

const faults = new FaultServer();
let opened = 0;
/** Those that brought no request yet: a client may open one more than it needs. */
const unused = new Set();
let open = 0;
let mostOpen = 0;

const server = createServer((req, res) => {
  unused.delete(req.socket);
  open += 1;
  mostOpen = Math.max(mostOpen, open);
  res.once("close", () => {
    open -= 1;
  });
  return plain(req, res) || faults.handle(req, res);
});
server.keepAliveTimeout = 65_000;
server.on("connection", (socket) => {
  opened += 1;
  unused.add(socket);
  socket.once("close", () => unused.delete(socket));
});

/** How long each resume took from the cut or close of its stream, in milliseconds, of the calls whose key begins so. */
function comebacks(prefix) {
  const left = new Map();
  const waits = [];
  const log = faults.log.filter(({ key }) => key?.startsWith(prefix));
  for (const { key, method, lastEventId, cameMs, leftMs } of log) {
    if (method === "GET" && lastEventId !== undefined && left.has(key)) waits.push(cameMs - left.get(key));
    if (leftMs !== undefined) left.set(key, leftMs);
  }
  return waits;
}

const ANSWERS = {
  executions: (keys) => keys.map((key) => faults.executions(key)),
  comebacks,
  bursts,
  waiting,
  requests: () => ({ opened, open, mostOpen, requests: faults.log.length }),
  /** What is still connected once those are closed that nothing goes over. */
  connections: () =>
    new Promise((resolve) => {
      server.closeIdleConnections();
      for (const socket of unused) socket.destroy();
      setTimeout(() => server.getConnections((_, count) => resolve(count)), 100);
    }),
};

process.on("message", async ({ id, ask, args }) => process.send({ id, answer: await ANSWERS[ask](...args) }));
process.once("disconnect", () => process.exit());
server.listen(0, "127.0.0.1", () => process.send({ url: `http://127.0.0.1:${server.address().port}/mcp` }));
