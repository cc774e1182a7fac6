// What JSON gives.

/** Whether it has members, and is no list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** About how many bytes its text has; nothing is written for it, for it may be nested deeper than a stack. */
export function sizeOf(value: unknown): number {
  let bytes = 0;
  const open = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next === "string") bytes += next.length + 2;
    else if (typeof next !== "object" || next === null) bytes += 4;
    else {
      for (const [key, member] of Object.entries(next)) {
        bytes += (Array.isArray(next) ? 0 : key.length + 3) + 1;
        open.push(member);
      }
      bytes += 2;
    }
  }
  return bytes;
}

/** Whether it is nested no deeper than so many levels. */
export function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((each) => isShallow(each, levels - 1));
}
