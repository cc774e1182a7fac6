// The entry `landfall/url` in Node, whose fetch reads no files. The only file that imports a module of Node's.
import { readFile } from "node:fs/promises";
import { compile } from "./compile.js";
import { connector } from "./connect.js";
import { createCore } from "./core.js";
import type { Connect } from "./types.js";

export * from "./exports.js";

const load = async () => compile(await readFile(new URL("./landfall.wasm", import.meta.url)));

/** Opens a session with an MCP server: see {@link Connect}. */
export const connect: Connect = connector(load, createCore);
