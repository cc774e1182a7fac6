// What the public types say in words: of every event, of its members, of every reason and code.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const src = fileURLToPath(new URL("../../src", import.meta.url));
const read = (name) => readFileSync(join(src, name), "utf8");

/** The members, and the alternatives of a choice, that have no doc comment of their own, each by its line. */
function undocumented(text) {
  const lines = text.split("\n").map((line) => line.trim());
  return lines.flatMap((line, place) => {
    // What an event is called, the doc comment of the event says.
    const isMember = /^(?:readonly )?["\w]+\??:/.test(line) && !line.startsWith('type: "');
    const isChoice = /^\| (?:"|\{|\(\{ )/.test(line);
    const isSaid = lines[place - 1]?.endsWith("*/");
    return (isMember || isChoice) && !isSaid ? [`${place + 1}: ${line}`] : [];
  });
}

test("every event, its members, and every reason and code have a doc comment", () => {
  for (const name of ["events", "failure", "metrics"]) {
    const text = read(`ts/api/${name}.ts`);
    assert.ok(text.length > 1_000);
    assert.deepEqual(undocumented(text), [], name);
  }
  const bare = 'export type X =\n  | "a"\n  /** B. */\n  | "b";\ninterface Y {\n  c?: number;\n}\n';
  assert.deepEqual(undocumented(bare), ['2: | "a"', "6: c?: number;"]);
});

test("the codes of warnings are those that the sources give", () => {
  const files = (folder, end) =>
    readdirSync(join(src, folder), { recursive: true })
      .filter((name) => name.endsWith(end))
      .map((name) => read(join(folder, name)));
  const inCore = files("proto", ".rs").flatMap((text) => [
    ...text.matchAll(/(?:\bwarn\([^"]*|Warning \{ code: )"(\w+)"/g),
  ]);
  const inWrapper = files("ts", ".ts").flatMap((text) => [
    ...text.matchAll(/type: "warning", code: "(\w+)"/g),
  ]);
  const given = new Set([...inCore, ...inWrapper].map(([, code]) => code));
  const [, union] = /export type WarningCode =\n(.*?);\n/s.exec(read("ts/api/events.ts"));
  const named = [...union.matchAll(/^ {2}\| "(\w+)"/gm)].map(([, code]) => code);
  assert.ok(inCore.length > 5 && inWrapper.length > 1);
  assert.deepEqual(named, [...given].sort());
});
