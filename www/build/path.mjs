// Programs on the PATH.
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/** Where a program is, if anywhere. */
export function onPath(program) {
  const folders = (process.env.PATH ?? "").split(delimiter);
  return folders.map((folder) => join(folder, program)).find((path) => existsSync(path));
}
