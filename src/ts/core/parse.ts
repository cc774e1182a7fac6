// Reads the messages of a batch. The core has proved each to be JSON; an engine may still refuse what is nested too deep.

/** The messages of a JSON array of them. One that the engine refuses is `undefined`, and no other is hurt by it. */
export function parseMessages(text: string): unknown[] {
  const all = parsed(text);
  return Array.isArray(all) ? all : elementsOf(text).map(parsed);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The texts of the elements of a JSON array, however deep they are and however long their strings. */
function elementsOf(array: string): string[] {
  const elements: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < array.length; at += 1) {
    const mark = array[at];
    if (mark === '"') at = endOfString(array, at);
    const isOpening = mark === "[" || mark === "{";
    const isClosing = mark === "]" || mark === "}";
    if (isOpening) depth += 1;
    if (depth === 1 && (mark === "," || isClosing)) elements.push(array.slice(start, at));
    if (isClosing) depth -= 1;
    if (depth === 1 && (mark === "," || (isOpening && start === 0))) start = at + 1;
  }
  return elements;
}

/** Where the string that begins here ends. A pattern for that would need a stack as deep as it has escapes. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === '"') return at;
  }
  return text.length;
}
