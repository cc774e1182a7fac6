// A string, a mark, or a number or word: what a JSON text is made of.
const tokens = /"(?:[^"\\]+|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g;

/**
 * The `id` of one message in a JSON array of messages, as it was written: `JSON.parse` keeps neither 9007199254740993
 * nor 1.0, and an id must come back as it was. Of several the last one counts, as in `JSON.parse`.
 */
export function rawId(messages: string, index: number): string | undefined {
  let found: string | undefined;
  let depth = 0;
  let at = 0;
  let key = "";
  let last = "";
  for (const [token] of messages.matchAll(tokens)) {
    const isValue = depth === 2 && at === index && last === ":";
    if (isValue && key === '"id"') found = token;
    if (depth === 2 && token === ":") key = last.includes("\\") ? JSON.stringify(JSON.parse(last)) : last;
    if (token === "[" || token === "{") depth += 1;
    else if (token === "]" || token === "}") depth -= 1;
    else if (token === "," && depth === 1) at += 1;
    if (at > index) break;
    last = token;
  }
  return found;
}
