// What needs a Node newer than the one that this runs on.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const major = Number(process.versions.node.split(".")[0]);
const installed = fileURLToPath(
  new URL(`../../node_modules/node24-${process.platform}-${process.arch}/bin/node`, import.meta.url),
);

/** Node 24: this one, or the installed one; `undefined` where there is none for this platform. */
export function node24() {
  if (major === 24) return process.execPath;
  return existsSync(installed) ? installed : undefined;
}

/** A Node of 22 or newer. */
export const node22 = () => (major >= 22 ? process.execPath : node24());
