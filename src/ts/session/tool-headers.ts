// The parameters of tools that a request of 2026-07-28 carries in its headers, too.
import { isObject } from "../base/json.js";
import type { ServerText } from "../base/server-text.js";

/** The member of `_meta` that makes a message modern. */
export const versionMember = "io.modelcontextprotocol/protocolVersion";

/** A parameter of a tool that goes into a header, too. */
interface Declaration {
  path: readonly string[];
  header: string;
}

const member = "x-mcp-header";
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const types = new Set<unknown>(["string", "integer", "boolean"]);
// Below these a declaration is not reached by `properties` alone, which is not allowed: schemas, lists and maps of them.
const otherSchemas = [
  ...[
    "items",
    "prefixItems",
    "contains",
    "additionalProperties",
    "unevaluatedProperties",
    "unevaluatedItems",
  ],
  ...["propertyNames", "oneOf", "anyOf", "allOf", "not", "if", "then", "else"],
];
const otherMaps = ["patternProperties", "dependentSchemas", "$defs", "definitions"];

/** A property on the way to a declaration, linked to the one above it: a path per node would cost their product. */
interface Step {
  key: string;
  above: Step | undefined;
  depth: number;
}

// No tool's arguments are nested so deep.
const mostDepth = 64;

/** The declarations of a tool's input schema, or what is wrong with one of them. */
export function declarationsOf(schema: unknown): Declaration[] | string {
  const found = new Map<string, Declaration>();
  // Not by recursion: a schema may be nested deeper than a stack.
  const open: { node: unknown; step: Step | undefined; isReached: boolean }[] = [
    { node: schema, step: undefined, isReached: true },
  ];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { node, step, isReached } = next;
    if (!isObject(node)) continue;
    if (Object.hasOwn(node, member)) {
      const problem = problemOf(node, step, isReached, found);
      if (problem !== undefined) return problem;
      const header = node[member] as string;
      found.set(header.toLowerCase(), { path: pathTo(step), header });
    }
    const depth = (step?.depth ?? 0) + 1;
    for (const [key, child] of Object.entries(isObject(node.properties) ? node.properties : {}))
      open.push({ node: child, step: { key, above: step, depth }, isReached });
    for (const child of otherChildren(node)) open.push({ node: child, step, isReached: false });
  }
  return [...found.values()];
}

function pathTo(last: Step | undefined): string[] {
  const path: string[] = [];
  for (let step = last; step !== undefined; step = step.above) path.push(step.key);
  return path.reverse();
}

function problemOf(
  node: Record<string, unknown>,
  step: Step | undefined,
  isReached: boolean,
  found: Map<string, Declaration>,
): string | undefined {
  const header = node[member];
  if (!isReached || step === undefined) return `${member} stands where no chain of properties leads`;
  if (step.depth > mostDepth) return `${member} is nested deeper than ${mostDepth} properties`;
  if (typeof header !== "string" || !token.test(header)) return `${member} is no name of a header`;
  if (!types.has(node.type)) return `${member} is not on a string, an integer or a boolean`;
  if (found.has(header.toLowerCase())) return `${member} gives one name twice`;
  return undefined;
}

function otherChildren(node: Record<string, unknown>): unknown[] {
  const schemas = otherSchemas.flatMap((key) => node[key]);
  const maps = otherMaps.map((key) => node[key]).filter(isObject);
  return [...schemas, ...maps.flatMap((map) => Object.values(map))];
}

/** What is wrong with a tool that was left out. */
export interface LeftOut {
  tool: string;
  problem: string;
}

/** The words for it. */
export function leftOutText({ tool, problem }: LeftOut, serverText: Pick<ServerText, "fit">): string {
  return `the tool ${serverText.fit(tool)} is left out: ${problem}`;
}

/** The parameters that go into headers, by tool, from the lists of tools that passed. */
export class ToolHeaders {
  readonly #declared = new Map<string, Declaration[]>();

  /** Reads a page of `tools/list`: the same result without the tools whose declarations are not valid, and those. */
  learn(result: unknown, isFirstPage: boolean): { result: unknown; leftOut: LeftOut[] } {
    if (!isObject(result) || !Array.isArray(result.tools)) return { result, leftOut: [] };
    if (isFirstPage) this.#declared.clear();
    return this.#read(result, result.tools);
  }

  /** Reads a response that the core asked for: a page, and not all of them need follow. */
  add(response: unknown): void {
    const result = isObject(response) ? response.result : undefined;
    if (isObject(result) && Array.isArray(result.tools)) this.#read(result, result.tools);
  }

  #read(result: object, all: unknown[]): { result: unknown; leftOut: LeftOut[] } {
    const leftOut: LeftOut[] = [];
    const tools = all.filter((tool: unknown) => {
      const { name, inputSchema } = (tool ?? {}) as { name?: unknown; inputSchema?: unknown };
      const declared = declarationsOf(inputSchema);
      if (typeof declared === "string") {
        leftOut.push({ tool: typeof name === "string" ? name : "without a name", problem: declared });
        return false;
      }
      if (typeof name === "string") this.#declared.set(name, declared);
      return true;
    });
    return { result: leftOut.length === 0 ? result : { ...result, tools }, leftOut };
  }

  /** What a call repeats in headers: texts, by the names behind `Mcp-Param-`. */
  of({ name, arguments: args }: Record<string, unknown>): Record<string, string> {
    const headers: Record<string, string> = {};
    for (const { path, header } of this.#declared.get(String(name)) ?? []) {
      const value = path.reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), args);
      const isSent =
        typeof value === "string" || typeof value === "boolean" || (Number.isFinite(value) && isExact(value));
      if (isSent) headers[header] = String(value);
    }
    return headers;
  }
}

/** An integer that doubles can't hold would not be what the body says. */
function isExact(value: unknown): boolean {
  return !Number.isInteger(value) || Number.isSafeInteger(value);
}
