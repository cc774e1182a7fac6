// What takes the space in a module: its sections, and its functions by the names that the compiler gave them.

const SECTIONS = [
  ...["custom", "type", "import", "function", "table", "memory", "global", "export", "start", "element"],
  ...["code", "data", "data count", "tag"],
];

/** Reads bytes one after the other. */
class Cursor {
  constructor(bytes, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  byte() {
    return this.bytes[this.at++];
  }

  /** An unsigned LEB128. */
  number() {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.byte();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  }

  text() {
    const length = this.number();
    this.at += length;
    return new TextDecoder().decode(this.bytes.subarray(this.at - length, this.at));
  }
}

/** Every section of a module: `{ name, bytes }`, without its head. */
export function sectionsOf(wasm) {
  const cursor = new Cursor(wasm, 8);
  const sections = [];
  while (cursor.at < wasm.length) {
    const id = cursor.byte();
    const end = cursor.number() + cursor.at;
    const name = id === 0 ? cursor.text() : SECTIONS[id];
    sections.push({ name, bytes: wasm.subarray(cursor.at, end) });
    cursor.at = end;
  }
  return sections;
}

/** Every function that has a body and a name: `{ name, size }`. */
export function functionsOf(wasm) {
  const sections = new Map(sectionsOf(wasm).map(({ name, bytes }) => [name, bytes]));
  const names = namesOf(new Cursor(sections.get("name") ?? new Uint8Array()));
  const cursor = new Cursor(sections.get("code"));
  const imported = importedFunctions(new Cursor(sections.get("import") ?? new Uint8Array([0])));
  return Array.from({ length: cursor.number() }, (_, n) => {
    const size = cursor.number();
    cursor.at += size;
    return { name: names.get(imported + n) ?? "", size };
  });
}

function namesOf(cursor) {
  const names = new Map();
  while (cursor.at < cursor.bytes.length) {
    const kind = cursor.byte();
    const end = cursor.number() + cursor.at;
    if (kind === 1) {
      for (let left = cursor.number(); left > 0; left -= 1) names.set(cursor.number(), cursor.text());
    }
    cursor.at = end;
  }
  return names;
}

/** How many functions the module imports; their indices come first. */
function importedFunctions(cursor) {
  let functions = 0;
  for (let left = cursor.number(); left > 0; left -= 1) {
    cursor.text();
    cursor.text();
    const kind = cursor.byte();
    if (kind === 0) {
      functions += 1;
      cursor.number();
    } else if (kind === 3) cursor.at += 2;
    else {
      if (kind === 1) cursor.byte();
      const flags = cursor.number();
      cursor.number();
      if (flags & 1) cursor.number();
    }
  }
  return functions;
}

/** A name without the hashes that tell its crate and its instance. */
export function plainName(name) {
  return name.replace(/\[[0-9a-f]+\]|::h[0-9a-f]{16}$/g, "");
}

const PATH = /(?:^|[<&\s(])(\w+(?:::\w+)+)/;

/**
 * Where a function of this name was written: a module of ours, to its file, or a crate. What is generic counts for the first type
 * in its name; an export has the name of the function alone, and what was inlined into it.
 */
export function groupOf(name) {
  if (name === "") return "without a name";
  const plain = plainName(name)
    .replace(/::<impl [^>]*>/g, "")
    .replace(/^<?(?:&|mut |dyn )*/, "");
  const [crate, ...path] = PATH.exec(plain)?.[1].split("::") ?? [];
  if (crate === undefined) return "exports";
  if (crate !== "landfall" && crate !== "landfall_wire") return crate;
  // What begins with a capital is a type.
  const modules = path.slice(0, -1).filter((part) => /^[a-z]/.test(part));
  return [crate, ...modules.slice(0, 3)].join("::");
}
