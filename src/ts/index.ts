// The entry `landfall`: the module's bytes are inside the JavaScript, so that no bundler needs to know of a second file.
import { compile } from "./compile.js";
import { connector } from "./connect.js";
import { createCore } from "./core.js";
import { decodeBase64, gunzip } from "./inflate.js";
import type { Connect } from "./types.js";
import inline from "./wasm-inline.js";

export * from "./exports.js";

const load = async () => compile(await gunzip(decodeBase64(inline)));

/**
 * Opens a session with an MCP server.
 *
 * Rejects with {@link ToolCallFailedError} (method `initialize`) where the server can't be reached or refuses, and with
 * {@link ConfigError} for options that contradict each other or are not known.
 */
export const connect: Connect = connector(load, createCore);
