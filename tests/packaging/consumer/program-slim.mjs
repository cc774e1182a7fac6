// A program: the entry without a module.
import { readFile } from "node:fs/promises";
import { connect, initializeWasm } from "landfall/slim";
import { run } from "./run.mjs";

await initializeWasm(await readFile(new URL(import.meta.resolve("landfall/landfall.wasm"))));
await run(connect);
