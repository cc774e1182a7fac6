// The entries `landfall` and `landfall/url` in workerd, which compiles nothing at run time: the module is imported.
import { connector } from "./connect.js";
import { createCore } from "./core.js";
import module from "./landfall.wasm";
import type { Connect } from "./types.js";

export * from "./exports.js";

const load = () => module;

/** Opens a session with an MCP server: see {@link Connect}. */
export const connect: Connect = connector(load, createCore);
