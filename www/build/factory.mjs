// Turns the glue of `wasm-bindgen --target web` into a factory. As generated it holds one instance per JavaScript
// module; we want one per transport, all from one compiled WebAssembly.Module.

// What the glue has for fetching and compiling. We are handed a compiled module, so the last part of the file goes.
const LOADER = ["__wbg_load", "initSync", "__wbg_init", "__wbg_init_once"];
const LOADER_START = /^async function __wbg_load\(/m;
const LOADER_EXPORT = /^export \{ initSync, __wbg_init as default \};?\s*$/m;
const STATE = "let wasmModule, wasmInstance, wasm;";
const REGISTRY =
  /\(typeof FinalizationRegistry === 'undefined'\)\s*\? (\{ register: \(\) => \{\}, unregister: \(\) => \{\} \})\s*: new FinalizationRegistry\(.*\);$/gm;
const MODULE_SYNTAX = /^\s*(?:import|export)\b.*|\bimport\s*[.(].*/m;

// In place of the globals of that name: a timer of a lost instance would keep a Node process alive.
const TIMERS = `const timers = new Set();
let isHeld = true;
function setTimeout(run, ms) {
    const timer = clock.setTimeout(() => {
        timers.delete(timer);
        run();
    }, ms);
    timers.add(timer);
    if (!isHeld) timer.unref?.();
    return timer;
}
function clearTimeout(timer) {
    timers.delete(timer);
    clock.clearTimeout(timer);
}
`;

/**
 * The text of a module with one export, `createCore(module, clock)`: each call makes an instance with bindings of its own,
 * whose timers are those of `clock`, and returns the functions that the crate exports, and besides
 * - `memory`, the instance's memory;
 * - `hold(is)`: whether its timers keep a process alive, in a runtime where they can;
 * - `retire()`, for an instance that trapped: its timers are cleared, and its promise reactions, which JavaScript still
 *   holds, do nothing, where they would enter a broken instance with nobody to catch what they throw.
 *
 * Throws if the glue is not as expected; above all if module syntax is left over, as from a JavaScript snippet.
 */
export function toFactory(glue) {
  const names = [];
  let body = withoutLoader(glue);
  body = body.replace(/^export function (\w+)/gm, (_, name) => {
    names.push(name);
    return `function ${name}`;
  });
  // A finalizer would call into an instance that may have trapped, and ends a Node process if that throws. Closures
  // are freed when Rust drops them.
  body = body.replace(REGISTRY, "$1;");

  expect(!/^export class/m.test(body), "a class is exported: export functions that take a handle");
  const leftOver = MODULE_SYNTAX.exec(body);
  expect(!leftOver, `left-over module syntax: ${leftOver?.[0].trim()}`);
  expect(!body.includes("FinalizationRegistry"), "a FinalizationRegistry of unknown form");
  expect(body.includes(STATE), `no "${STATE}"`);
  expect(body.includes("function __wbg_finalize_init(instance, module)"), "no __wbg_finalize_init");
  expect(names.length > 0, "nothing is exported");
  for (const name of ["memory", "hold", "retire"])
    expect(!names.includes(name), `the name ${name} is the factory's own`);
  for (const name of ["timers", "isHeld", "clock"])
    expect(!new RegExp(`\\b${name}\\b`).test(body), `the name ${name} is the factory's own`);

  return `// Made by the build from wasm-bindgen's glue.
export function createCore(module, clock = globalThis) {
${TIMERS}
${body.trim()}

__wbg_finalize_init(new WebAssembly.Instance(module, __wbg_get_imports()), module);
return {
    ${names.join(", ")},
    get memory() { return wasm.memory; },
    hold(is) {
        isHeld = is;
        timers.forEach((timer) => is ? timer.ref?.() : timer.unref?.());
    },
    retire() {
        wasm = new Proxy({}, { get: () => () => [] });
        timers.forEach((timer) => clock.clearTimeout(timer));
        timers.clear();
        wasmInstance = undefined;
    },
};
}
`;
}

/**
 * The same text for a module whose imports and exports wasm-opt has given short names: `told` is what it says of them. In both files
 * the long ones are a twentieth of what goes over the wire, for no text of them is like another.
 */
export function withShortNames(factory, told) {
  const imports = new Map();
  const exports = new Map();
  for (const [, name, short] of told.matchAll(/\["\.\/core_bg\.js", "([^"]+)", "([^"]+)"\]/g))
    imports.set(name, short);
  for (const [, name, short] of told.matchAll(/\["([^"]+)", "([^"]+)"\]/g)) exports.set(name, short);
  expect(imports.size > 0 && exports.size > 0, "no names of wasm-opt's");
  const bound = new Set();
  const text = factory
    .replace(/^( {8})(\w+)(?=: function\()/gm, (all, space, name) => {
      bound.add(name);
      return imports.has(name) ? space + imports.get(name) : all;
    })
    .replace('"./core_bg.js": import0', "a: import0")
    .replace(/\bwasm\.(\w+)/g, (_, name) => {
      expect(exports.has(name), `the module has no export ${name}`);
      return `wasm.${exports.get(name)}`;
    });
  for (const name of imports.keys()) expect(bound.has(name), `nothing is bound to ${name}`);
  return text;
}

function withoutLoader(glue) {
  const start = glue.search(LOADER_START);
  expect(start >= 0, "no __wbg_load");
  const loader = glue.slice(start);
  expect(LOADER_EXPORT.test(loader), "no closing export of initSync");
  const rest = loader.replace(LOADER_EXPORT, "");
  for (const [, name] of rest.matchAll(/^(?:export |async )*(?:function\*?|class|const|let) (\w+)/gm)) {
    const known = LOADER.includes(name) || name === "__wbg_init_promise";
    expect(known, `${name} stands among the functions that load the module`);
  }
  const leftOver = MODULE_SYNTAX.exec(rest);
  expect(!leftOver, `left-over module syntax: ${leftOver?.[0].trim()}`);
  return glue.slice(0, start);
}

function expect(condition, problem) {
  if (!condition) throw new Error(`the glue can't be made a factory: ${problem}`);
}
