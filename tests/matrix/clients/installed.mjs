// The version of an installed package. Not every package exports its package.json, so the file is read.
import { readFile } from "node:fs/promises";

export async function installed(name) {
  const file = new URL(`../../../node_modules/${name}/package.json`, import.meta.url);
  return JSON.parse(await readFile(file, "utf8")).version;
}
