// The real servers that the programs run against.
import { fileURLToPath } from "node:url";
import { startPythonServer } from "../interop/python-server.mjs";
import { startTypeScriptServer } from "./typescript-server.mjs";

const PYTHON_PROGRAM = fileURLToPath(new URL("python_server.py", import.meta.url));

/** `isModern` servers answer at 2026-07-28, too. */
export const SERVERS = [
  { name: "TypeScript", isModern: true, start: () => startTypeScriptServer() },
  {
    name: "TypeScript, 2025-11-25 only",
    isModern: false,
    start: () => startTypeScriptServer({ modern: false }),
  },
  // The Python SDK names a stream after its request's id, and all sessions share one event store: with SDK clients, who
  // all count from 0, a resume may bring what belongs to another session. So there is one session at a time.
  {
    name: "Python",
    isModern: true,
    oneAtATime: true,
    start: () => startPythonServer({ program: PYTHON_PROGRAM }),
  },
];
