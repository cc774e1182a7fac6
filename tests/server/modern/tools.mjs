// The tools of this era, and which of their arguments are to be seen in headers.

const HEADER = "x-mcp-header";
const STEPS = { key: { type: "string" }, steps: { type: "array" }, post: { type: "object" } };
const schema = (properties = {}) => ({ type: "object", properties: { ...STEPS, ...properties } });

const scripted = [
  { name: "scripted", description: "Does what its steps say.", inputSchema: schema() },
  {
    name: "scripted_read",
    description: "The same, and says that it only reads.",
    inputSchema: schema(),
    annotations: { readOnlyHint: true },
  },
  {
    name: "scripted_idempotent",
    description: "The same, and says that it may be repeated.",
    inputSchema: schema(),
    annotations: { idempotentHint: true },
  },
];

const routed = (region) => ({
  name: "routed",
  description: "The same, with arguments that are to be seen in headers.",
  inputSchema: schema({
    region: { type: "string", [HEADER]: region },
    priority: { type: "integer", [HEADER]: "Priority" },
    dry_run: { type: "boolean", [HEADER]: "Dry-Run" },
    where: { type: "object", properties: { zone: { type: "string", [HEADER]: "Zone" } } },
  }),
});

const broken = (name, properties) => ({
  name,
  description: "Must not be shown.",
  inputSchema: schema(properties),
});

/** What no client may show, by what is wrong with each. */
const INVALID = [
  broken("empty_header", { a: { type: "string", [HEADER]: "" } }),
  broken("header_of_blanks", { a: { type: "string", [HEADER]: "My Region" } }),
  broken("header_of_lines", { a: { type: "string", [HEADER]: "A\r\nB" } }),
  broken("header_twice", {
    a: { type: "string", [HEADER]: "Same" },
    b: { type: "string", [HEADER]: "same" },
  }),
  broken("header_of_a_number", { a: { type: "number", [HEADER]: "A" } }),
  broken("header_of_an_object", { a: { type: "object", [HEADER]: "A" } }),
  broken("header_in_items", { a: { type: "array", items: { type: "string", [HEADER]: "A" } } }),
  broken("header_in_a_choice", { a: { anyOf: [{ type: "string", [HEADER]: "A" }] } }),
  broken("header_no_text", { a: { type: "string", [HEADER]: 7 } }),
];

/** The names that a client has to leave out of the list. */
export const INVALID_TOOLS = INVALID.map(({ name }) => name);

/** The tools as they are at the moment: they change at the word of a script. */
export class Toolbox {
  #region = "Region";
  #more = [];

  get list() {
    return [...scripted, routed(this.#region), ...this.#more, ...INVALID];
  }

  named(name) {
    return this.list.find((tool) => tool.name === name);
  }

  /** The header of an argument of `routed` has another name from now on. */
  rename(region) {
    this.#region = region;
  }

  add(name) {
    this.#more.push({ name, description: "Came later.", inputSchema: schema() });
  }
}

/** `{ header, path, type }` of each argument that is to be seen in a header. */
export function headersOf({ inputSchema }, path = []) {
  return Object.entries(inputSchema.properties ?? {}).flatMap(([name, property]) => {
    const here = [...path, name];
    if (typeof property[HEADER] === "string") {
      return [{ header: property[HEADER], path: here, type: property.type }];
    }
    return headersOf({ inputSchema: property }, here);
  });
}
