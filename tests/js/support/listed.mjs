// A list of things that went wrong, as in tests/field_reports.md: each with an id, and below it the tests that have it.
import { existsSync, readFileSync } from "node:fs";

const root = new URL("../../../", import.meta.url);
const read = (path) => readFileSync(new URL(path, root), "utf8");

/** The items of a list: a line `- **A1.1** kind`, and the lines `  - ...` below it. */
export function listed(path) {
  const list = [];
  for (const line of read(path).split("\n")) {
    const id = /^- \*\*([A-Z]\d+(?:\.\d+)?)\*\* \S/.exec(line)?.[1];
    if (id) list.push({ id, items: [] });
    else if (line.startsWith("  - ")) list.at(-1).items.push(line.slice(4));
  }
  return list;
}

/** What names a test: a file and the test's name, or its title. */
export const namesTest = /^`(\S+\.(?:rs|mjs)) ([^`]+)`$/;

/** Those that name a test: `[id, path, name]`. */
export function testsOf(list) {
  const named = list.flatMap(({ id, items }) =>
    items.map((item) => [id, ...(namesTest.exec(item) ?? []).slice(1)]),
  );
  return named.filter(([, path]) => path !== undefined);
}

/** Whether the file has that test: a Rust function marked as one, or a title. */
export function hasTest(path, name) {
  if (!existsSync(new URL(path, root))) return false;
  const text = read(path);
  if (!path.endsWith(".rs"))
    return ["test", "timed"].some((by) => text.includes(`${by}(${JSON.stringify(name)}`));
  return new RegExp(`#\\[(test|wasm_bindgen_test)\\]\\s+(async )?fn ${name}\\(`).test(text);
}
