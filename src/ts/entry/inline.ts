// The module's bytes are inside the JavaScript, so that no bundler needs to know of a second file.
import { compile, decodeBase64, gunzip } from "../core/compile.js";
import { createCore } from "../core/decoder.js";
import { Instances } from "../core/instance.js";
import inline from "./wasm-inline.js";

/** The instances of the entries with the module inside. */
export const instances = new Instances(async () => compile(await gunzip(decodeBase64(inline))), createCore);
