// workerd compiles nothing at run time: there the module is imported.
import { createCore } from "../core/decoder.js";
import { Instances } from "../core/instance.js";
import module from "./landfall.wasm";

/** The instances of the entries in workerd. */
export const instances = new Instances(() => module, createCore);
