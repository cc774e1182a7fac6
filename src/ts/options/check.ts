// Whether what the user gave is of the kind that an option wants: each throws a ConfigError that names the option.

import { ConfigError } from "../api/errors.js";
import { isObject } from "../base/json.js";
import { textOf } from "../base/thrown.js";

/** JSON text of an object. Throws {@link ConfigError} for what JSON can't carry. */
export function jsonObject(option: string, value: object): string {
  if (!isPlain(value)) throw new ConfigError(option, `${option} must be a plain object`);
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (thrown) {
    throw new ConfigError(option, `${option} can't be written as JSON: ${textOf(thrown)}`, { cause: thrown });
  }
  if (text === undefined || !text.startsWith("{"))
    throw new ConfigError(option, `${option} is no object in JSON`);
  return text;
}

/** Whether its own members are all there is to it: no array, Map, Date or other built-in. */
export function isPlain(value: unknown): boolean {
  return Object.prototype.toString.call(value) === "[object Object]";
}

/** An object with no other members than `names`; members that are `undefined` are left out. */
export function group(option: string, value: unknown, names: readonly string[]): Record<string, unknown> {
  const members: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(plain(option, value) ?? {})) {
    if (member === undefined) continue;
    if (!names.includes(name)) {
      const path = option === "options" ? name : `${option}.${name}`;
      const text = `${path} is not an option that this version of landfall honours here`;
      throw new ConfigError(path, text + meant(name, names));
    }
    members[name] = member;
  }
  return members;
}

// What others call it, in small letters.
const elsewhere: { [name: string]: readonly string[] } = {
  onprogress: ["onEvent", "onevent"],
  onmessage: ["onEvent", "onevent"],
  onnotification: ["onEvent", "onevent"],
  onlog: ["logger"],
  timeout: ["timeouts", "callMs"],
  timeoutms: ["timeouts", "callMs"],
  maxtotaltimeout: ["timeouts", "deadlineMs"],
  retries: ["retry", "maxReissues"],
  maxretries: ["reconnectionOptions", "maxReissues"],
  auth: ["authProvider"],
  token: ["authProvider"],
  abortsignal: ["signal"],
};

/** Which of these names an unknown one may have meant, for the end of a message. */
export function meant(name: string, names: readonly string[]): string {
  const small = name.toLowerCase();
  const others = Object.hasOwn(elsewhere, small) ? elsewhere[small] : undefined;
  const likely = [
    names.find((each) => each.toLowerCase() === small),
    others?.find((each) => names.includes(each)),
    names.find((each) => isNear(small, each.toLowerCase())),
  ].find((each) => each !== undefined);
  if (likely !== undefined) return `; did you mean ${likely}?`;
  if (small !== "onprogress") return "";
  return "; progress is among the events of a call: for await (const event of call)";
}

/** Whether one edit, or two in a longer word, make the one of the other. */
function isNear(one: string, other: string): boolean {
  const most = Math.min(one.length, other.length) > 5 ? 2 : 1;
  if (Math.abs(one.length - other.length) > most) return false;
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (const [place, letter] of [...one].entries()) {
    const next = [place + 1];
    for (const [at, same] of [...other].entries())
      next.push(
        Math.min((row[at] ?? 0) + Number(letter !== same), (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1),
      );
    row = next;
  }
  return (row.at(-1) ?? 0) <= most;
}

/** Headers, or a function that will give them. */
export function usableHeaders<T>(option: string, headers: T): T {
  if (headers === undefined || typeof headers === "function") return headers;
  try {
    new Headers(headers as HeadersInit);
  } catch (thrown) {
    throw new ConfigError(option, `${option} can't be used: ${textOf(thrown)}`, { cause: thrown });
  }
  return headers;
}

/** A whole number of at least 1. */
export function whole(option: string, value: number): number {
  if (Number.isInteger(value) && value >= 1) return value;
  throw new ConfigError(option, `${option} must be a whole number of at least 1, not ${value}`);
}

/** One of these words. */
export function oneOf<const T extends string>(option: string, value: unknown, values: readonly T[]): T {
  const found = values.find((each) => each === value);
  if (found !== undefined) return found;
  throw new ConfigError(option, `${option} must be one of ${values.join(", ")}`);
}

/** Members that are finite numbers, all of them; `prefix` is what the option is named by before them. */
export function numeric<K extends string>(
  prefix: string,
  values: { [key in K]?: unknown },
): { [key in K]?: number } {
  for (const [name, value] of Object.entries(values)) {
    if (Number.isFinite(value)) continue;
    const option = prefix + name;
    const kind = typeof value === "object" ? "an object" : `a ${typeof value}`;
    const given = typeof value === "number" ? String(value) : kind;
    throw new ConfigError(option, `${option} must be a finite number, not ${given}`);
  }
  return values as { [key in K]?: number };
}

/** A plain object, where there is one. */
export function plain<T>(option: string, value: T): T {
  if (value === undefined || isPlain(value)) return value;
  throw new ConfigError(option, `${option} must be a plain object`);
}

/** An object that is no list, where there is one. */
export function object<T>(option: string, value: T): T {
  if (value === undefined || isObject(value)) return value;
  throw new ConfigError(option, `${option} must be an object`);
}

/** An AbortSignal, where there is one. It is tried out: one that does not work is found before it is relied on. */
export function usableSignal(signal: AbortSignal | undefined): AbortSignal | undefined {
  if (signal === undefined) return undefined;
  const probe = () => {};
  try {
    signal.addEventListener("abort", probe);
    signal.removeEventListener("abort", probe);
    if (typeof signal.aborted === "boolean") return signal;
  } catch (cause) {
    throw new ConfigError("signal", `signal must be an AbortSignal: ${textOf(cause)}`, { cause });
  }
  throw new ConfigError("signal", "signal must be an AbortSignal");
}

/** A function, where there is one. */
export function callable<T>(option: string, value: T): T {
  if (value === undefined || typeof value === "function") return value;
  throw new ConfigError(option, `${option} must be a function`);
}
