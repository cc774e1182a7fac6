// TypeScript projects that use the package: those without the types of the DOM, in every TypeScript that is installed, and the
// snippets of the README.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The folders of TypeScript 7, 6 and 5: tools bring the older ones along. */
const compilers = ["", "@microsoft/api-extractor/node_modules/", "@arethetypeswrong/core/node_modules/"]
  .map((path) => join(root, "node_modules", path, "typescript"))
  .filter(existsSync);

/** A project of these files, compiled; what the compiler says. */
function compiled(t, files, options, compiler = compilers[0]) {
  // Where the modules that are installed here are found.
  const folder = mkdtempSync(join(root, "target/consumer-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const types = join(root, "target/npm/entry");
  const paths = {
    landfall: [join(types, "index.d.ts")],
    "landfall/landfall.wasm": [join(types, "landfall.d.wasm.ts")],
    "landfall/*": [join(types, "*.d.ts")],
  };
  const compilerOptions = {
    ...{ strict: true, noUncheckedIndexedAccess: true, noEmit: true, paths },
    ...{ target: "es2022", module: "nodenext", types: ["node"], ...options },
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["."] }));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const { status, stdout } = spawnSync(process.execPath, [join(compiler, "bin/tsc"), "-p", folder], {
    encoding: "utf8",
  });
  return { status, stdout };
}

const program = `
import { connect, type Session, type Tool, type ToolCall } from "landfall";
import module from "landfall/landfall.wasm";
import { initializeWasm, type ModuleSource } from "landfall/slim";
import { LandfallTransport } from "landfall/url";

export const source: ModuleSource = module;

export async function use(url: URL): Promise<Tool[]> {
  await initializeWasm(module);
  await initializeWasm(new Uint8Array(8));
  await using session: Session = await connect(url, { signal: AbortSignal.timeout(1_000), headers: { a: "b" } });
  const call: ToolCall = session.callTool("work");
  for await (const { type } of call) console.log(type);
  await new LandfallTransport(url).close();
  return session.listTools();
}
`;

test("a project without the types of the DOM compiles, by each TypeScript that there is", (t) => {
  const versions = compilers.map((compiler) => {
    const { version } = JSON.parse(readFileSync(join(compiler, "package.json"), "utf8"));
    const options = { lib: ["es2022"], skipLibCheck: false };
    const { status, stdout } = compiled(t, { "program.ts": program }, options, compiler);
    assert.equal(status, 0, `TypeScript ${version}: ${stdout}`);
    const spoilt = program.replace("Promise<Tool[]>", "Promise<string[]>");
    assert.notEqual(compiled(t, { "program.ts": spoilt }, options, compiler).status, 0, version);
    return version.split(".")[0];
  });
  assert.deepEqual(versions, ["7", "6", "5"]);
});

/** What the program around the snippet of a hand-over has. */
const around = `
import { connect, type State } from "landfall";
declare const [url, name, cursor]: [string, string, string];
declare const args: Record<string, unknown>;
declare const state: State;
declare function save(what: object): Promise<void>;
`;

test("the snippets of the README compile", (t) => {
  mkdirSync(join(root, "target"), { recursive: true });
  const readme = readFileSync(join(root, "README.md"), "utf8");
  const snippets = [...readme.matchAll(/<!-- ([\w: -]+) -->\n```js\n([\s\S]*?)```/g)];
  assert.equal(snippets.length, readme.split("```js\n").length - 1, "each has a name");
  assert.ok(snippets.length >= 6);
  const files = snippets.map(([, name, text]) => [
    `${name.replace(": ", "-")}.ts`,
    name === "hand-over" ? around + text : text,
  ]);
  const options = { lib: ["es2022", "dom", "dom.asynciterable"], skipLibCheck: true };
  const { status, stdout } = compiled(t, Object.fromEntries(files), options);
  assert.equal(status, 0, stdout);
});
