// What was thrown: its text, and marks on errors that none of their class has to be imported for.

// So much of a text is worth any work.
const mostText = 65_536;

/** The text of anything thrown, or its beginning; Firefox throws strings when it is out of memory. */
export function textOf(thrown: unknown): string {
  try {
    if (!(thrown instanceof Error)) return String(thrown).slice(0, mostText);
    // Anything can stand in the members of an error, and what is no string must not reach an export.
    const { message, name } = thrown as { message: unknown; name: unknown };
    const text = [message, name].find((each) => typeof each === "string" && each !== "");
    return typeof text === "string" ? text.slice(0, mostText) : "an error without a message was thrown";
  } catch {
    return "something that can't be shown was thrown";
  }
}

/** The message of anything thrown, as far as it has one, or its beginning. Errors of other realms are told by that. */
export function messageOf(thrown: unknown): string {
  const { message = thrown } = Object(thrown) as { message?: unknown };
  return typeof message === "string" ? message.slice(0, mostText) : "";
}

/** The structured code by which a runtime tells what became of a connection, as in `ECONNRESET`. */
export function codeOf(thrown: unknown): string {
  try {
    const { code, cause } = thrown as { code?: unknown; cause?: { code?: unknown } };
    return [cause?.code, code].find((each) => typeof each === "string") ?? "";
  } catch {
    return "";
  }
}

/** The same value, if it can be looked at: a proxy, or a getter of it, may throw at any look, wherever that comes. */
export function harmless(thrown: unknown): unknown {
  try {
    if (typeof thrown !== "object" || thrown === null) return thrown;
    const { name, message, code, cause } = thrown as Record<string, unknown>;
    const { code: causeCode } = Object(cause);
    // Looks are all that is wanted of these.
    return [name, message, code, causeCode, thrown instanceof Error].length === 0 ? undefined : thrown;
  } catch {
    return new Error("something that can't be looked at was thrown");
  }
}

/** Gives an object a property that no dump of it lists. */
export function hide<T extends object>(target: T, key: PropertyKey, value: unknown): T {
  try {
    Object.defineProperty(target, key, { value, configurable: true, writable: true });
  } catch {
    // Frozen: it says more as it is than a copy would.
  }
  return target;
}

/** Marks an error as one of these classes of the SDKs. */
export function brand<T extends Error>(error: T, ...names: string[]): T {
  const brands = new Set(names.map((name) => `mcp.${name}`));
  return hide(error, Symbol.for("mcp.sdk.errorBrands"), brands);
}
