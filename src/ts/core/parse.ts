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

// What opens, closes or separates, and strings, in which none of these does.
const marks = /"(?:[^"\\]+|\\.)*"|[[\]{},]/g;

/** The texts of the elements of a JSON array, however deep they are. */
function elementsOf(array: string): string[] {
  const elements: string[] = [];
  let depth = 0;
  let start = 0;
  for (const { 0: mark, index } of array.matchAll(marks)) {
    const isOpening = mark === "[" || mark === "{";
    const isClosing = mark === "]" || mark === "}";
    if (isOpening) depth += 1;
    if (depth === 1 && (mark === "," || isClosing)) elements.push(array.slice(start, index));
    if (isClosing) depth -= 1;
    if (depth === 1 && (mark === "," || (isOpening && start === 0))) start = index + 1;
  }
  return elements;
}
