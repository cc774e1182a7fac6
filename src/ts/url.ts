// The entry `landfall/url`: the module as a file beside the JavaScript, compiled while it streams in.
import { compile } from "./compile.js";
import { connector } from "./connect.js";
import { createCore } from "./core.js";
import type { Connect } from "./types.js";

export * from "./exports.js";

const load = () => compile(new URL("./landfall.wasm", import.meta.url));

/** Opens a session with an MCP server: see {@link Connect}. */
export const connect: Connect = connector(load, createCore);
