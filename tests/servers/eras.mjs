// A server of each era, and of each way to be of several: what `connect` has to find out by itself.
//
// - `era`, `protocolVersion`: what a session with it is
// - `resumes`: its streams can be taken up again after a cut; else what was cut is lost
// - `cancels`: what stops a tool: "message" (notifications/cancelled), "close" (the end of its stream)
// - `asks`: it has the tool `choose`, which asks the client
// - `deaf`: what resumes its stream for changes brings nothing: its store takes the ids for another stream's
// - the rest as in servers.mjs
import { fileURLToPath } from "node:url";
import { inPython, ours } from "./servers.mjs";

const LEGACY = { era: "legacy", protocolVersion: "2025-11-25", resumes: true, cancels: "message" };
const MODERN = { era: "modern", protocolVersion: "2026-07-28", resumes: false, cancels: "close" };
const SSE = { era: "sse", protocolVersion: "2025-11-25", resumes: false, cancels: "message", path: "/sse" };

const installed = (name) => fileURLToPath(new URL(`../../node_modules/${name}`, import.meta.url));

export const ERA_SERVERS = [
  { name: "SDK 2, modern only", ...MODERN, asks: true, ...ours("sdk-v2-eras.mjs", "reject") },
  // Of the earlier era it has what can't be resumed.
  { name: "SDK 2, both, stateless", ...MODERN, asks: true, ...ours("sdk-v2-eras.mjs", "stateless") },
  { name: "SDK 2, both, sessions", ...LEGACY, ...ours("sdk-v2.mjs") },
  { name: "SDK 1", ...LEGACY, deaf: true, ...ours("sdk-v1.mjs") },
  { name: "Python SDK 2, modern only", ...MODERN, asks: true, ...inPython("venv", "modern2.py") },
  { name: "Python SDK 2, both", ...LEGACY, ...inPython("venv", "mcp2.py") },
  { name: "HTTP+SSE of SDK 1", ...SSE, ...ours("sse-v1.mjs") },
  {
    name: "HTTP+SSE of SDK 2",
    ...SSE,
    ...ours("sse-v2.mjs"),
    needs: [installed("@modelcontextprotocol/server-legacy")],
  },
  { name: "HTTP+SSE of Python SDK 2", ...SSE, ...inPython("venv", "sse2.py") },
  { name: "HTTP+SSE of Python SDK 1", ...SSE, ...inPython("venv-mcp1", "sse1.py") },
];

/** What is asked of each kind, in order, before the first call. */
export function probesOf({ era, name }) {
  if (era === "sse") return ["initialize 4xx", "server/discover 4xx", "GET 200", ...CONFIRMED];
  if (era === "modern")
    return [name.includes("both") ? "initialize 200" : "initialize 400", "server/discover 200"];
  return ["initialize 200", "notifications/initialized 202"];
}
const CONFIRMED = ["initialize 202", "notifications/initialized 202"];

/** How a call ends whose stream is cut: as `reason outcome`, where it has no answer. */
export function whenCut({ era }) {
  return { legacy: undefined, modern: "stream_lost unknown", sse: "session_lost unknown" }[era];
}

/** The table of README.md, which the tests of `tests/interop/eras.test.mjs` prove row by row. */
export function whichServer() {
  const asked = (kind) => {
    const rpcs = probesOf(kind).map((probe) => probe.split(" ")[0]);
    return [...new Set(rpcs)]
      .filter((rpc) => !rpc.startsWith("notifications"))
      .map(marked)
      .join(", ");
  };
  const ends = (kind) => whenCut(kind)?.split(" ").map(marked).join(", ") ?? "resumed: the answer, one run";
  const again = (kind) =>
    kind.resumes ? "resumed: the answer, one run" : "sent again: the answer, two runs";
  const cancel = ({ cancels }) =>
    cancels === "close" ? "its body is closed" : marked("notifications/cancelled");
  const rows = ERA_SERVERS.map((kind) => [
    kind.name,
    asked(kind),
    `${kind.era}, ${kind.protocolVersion}`,
    ends(kind),
    again(kind),
    cancel(kind),
  ]);
  const head = [
    "server",
    "is asked",
    "is spoken to",
    "a call that is cut",
    "a cut call that only reads",
    "a cancel",
  ];
  const line = (cells) => `| ${cells.join(" | ")} |`;
  return [head, head.map(() => "---"), ...rows].map(line).join("\n");
}

const marked = (word) => (word === "GET" ? "a GET" : `\`${word}\``);
