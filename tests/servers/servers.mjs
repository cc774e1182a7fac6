// The servers of others, and what is known of each.
//
// - `command(port)`: how it is started (start.mjs)
// - `light`: `make test` has what it needs; the others are installed by `make servers`
// - `front`: nginx or haproxy, between the proxy that cuts and the server
// - `tools`: where they are not those of programs/tools.mjs
// - `seen`: what of a call's steps must be complete; by default both `progress` and `messages`
// - `cuts`: a schedule of the proxy's, or "by hand" where a call's stream brings nothing before the answer
// - `atOnce`: how many sessions it has side by side, where that is not what run.mjs says
// - `without`: scenarios of which nothing is stated
// - `differs`: by scenario, what is expected of it where that is not what scenarios.mjs says
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { onPath } from "../../www/build/path.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const program = (name) => here(`programs/${name}`);
const module = (name) => here(`node_modules/${name}`);
const python = (venv) => here(`../../.tools/${venv}/bin/python`);

const node = (script, ...args) => [
  ...[process.execPath, "--import", program("loopback.mjs")],
  ...[script, ...args],
];
export const ours = (name, ...args) => ({
  command: (port) => node(program(name), String(port), ...args),
  needs: [],
});
export const inPython = (venv, name) => ({
  command: (port) => [python(venv), program(name), String(port)],
  needs: [python(venv)],
});
const needing = (name, server) => ({ ...server, needs: [module(name)] });
/** A program of theirs, which is told its port as it likes; `PORT` is set, too. */
const gateway = (name, script, args) =>
  needing(name, { command: (port) => node(module(`${name}/${script}`), ...args(port)) });

const supergateway = (...more) =>
  gateway("supergateway", "dist/index.js", (port) => [
    ...["--stdio", `${process.execPath} ${program("stdio.mjs")}`, "--outputTransport", "streamableHttp"],
    ...["--port", String(port), "--logLevel", "none", ...more],
  ]);

/** Its own tools; it tells nobody how often they ran, and the requests that reached it are counted. */
const operation = ({ steps = 60, interval_ms = 1_000, key }) => ({
  name: "trigger-long-running-operation",
  args: { steps, duration: (steps * interval_ms) / 1_000, key },
});
const EVERYTHING = {
  count: operation,
  recite: operation,
  rest: operation,
  grow: () => ({ name: "toggle-simulated-logging", args: {} }),
};

/** What falls between two streams is lost, without a trace in the ids: what is seen is in order, and no more. */
const NOTHING = [];
/** Their store takes the listening stream's ids for another's, so that what resumes it brings nothing. */
const DEAF = { listen: ["heard, cut 1, not heard"] };
/** No ids: what is cut is lost, and only what may run twice is sent again. */
const WITHOUT_STORE = {
  cut: ["cut 1: count: stream_lost, 1 run", "cut 1: recite: answer, 2 runs"],
  restart: ["count: stream_lost, 1 run", "next count: answer, 1 run"],
};

export const SERVERS = [
  { name: "SDK 1", light: true, differs: DEAF, ...ours("sdk-v1.mjs") },
  { name: "SDK 2", light: true, ...ours("sdk-v2.mjs") },
  // Python's SDK names a stream after its request's id, and all sessions share one event store: six Clients side by side,
  // which all count from 0, get their own.
  { name: "Python SDK 2", light: true, ...inPython("venv", "mcp2.py") },
  { name: "Python SDK 1", ...inPython("venv-mcp1", "mcp1.py") },
  {
    name: "fastmcp (PyPI)",
    seen: NOTHING,
    ...inPython("venv-fastmcp", "fastmcp_server.py"),
  },
  { name: "fastmcp (npm)", ...needing("fastmcp", ours("fastmcp.mjs")) },
  { name: "@hono/mcp", differs: DEAF, ...needing("@hono/mcp", ours("hono.mjs")) },
  {
    // What it passes on belongs to no call, and the last of it comes after the answer.
    name: "mcp-proxy",
    cuts: "by hand",
    seen: ["messages"],
    differs: { cut: ["cut 1: count: answer, 1 run", "cut 1: recite: answer, 1 run"] },
    ...gateway("mcp-proxy", "dist/bin/mcp-proxy.mjs", (port) => [
      ...["--port", String(port), "--host", "127.0.0.1", "--server", "stream"],
      ...["--", process.execPath, program("stdio.mjs")],
    ]),
  },
  {
    // What is told of one call comes on the stream of another, and after a stall behind the answer.
    name: "supergateway",
    cuts: "by hand",
    seen: NOTHING,
    differs: WITHOUT_STORE,
    ...supergateway("--stateful"),
  },
  {
    // A process for each request: another can't cancel it, and there is nothing to listen to.
    name: "supergateway, stateless",
    cuts: "by hand",
    without: ["stall"],
    differs: {
      ...WITHOUT_STORE,
      cancel: ["rest: cancelled, 1 run, running on"],
      listen: ["heard, cut none, heard"],
    },
    ...supergateway(),
  },
  {
    // After a cut it sends live events where nobody listens, with comments on what was resumed, and replays the events of
    // every stream: a silence is what tells, and what was seen on another stream is dropped.
    name: "server-everything",
    tools: EVERYTHING,
    seen: ["progress"],
    timeouts: { idleMs: 3_000, connectMs: 700 },
    // How many of a call's events come on its own stream after the first cut is a matter of luck.
    cuts: [{ after: 2, how: "rst" }],
    differs: {
      cut: ["cut 1: count: answer, 1 run", "cut 1: recite: answer, 1 run"],
      cancel: ["rest: cancelled, 1 run, running on"],
    },
    ...gateway("@modelcontextprotocol/server-everything", "dist/index.js", () => ["streamableHttp"]),
  },
  { name: "SDK 2 behind nginx", front: "nginx", ...ours("sdk-v2.mjs") },
  { name: "SDK 2 behind haproxy", front: "haproxy", ...ours("sdk-v2.mjs") },
];

/** What of its needs is not installed. */
export const missing = ({ needs, front }) => [
  ...needs.filter((path) => !existsSync(path)),
  ...(front && !onPath(front) ? [front] : []),
];
