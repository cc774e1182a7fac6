// What is known of the runtime that all this runs in.
import { timers } from "./timers.js";

interface Globals {
  performance?: { getEntriesByType?(type: string): { name: string; nextHopProtocol?: string }[] };
  document?: unknown;
  WorkerGlobalScope?: unknown;
  Deno?: unknown;
  Bun?: unknown;
  navigator?: { userAgent?: string };
  process?: { type?: string; versions?: { node?: string } };
  location?: { href?: string };
  crypto?: { getRandomValues?(into: Uint32Array): Uint32Array };
}

const globals = globalThis as unknown as Globals;

/**
 * Whether `fetch` is a browser's, in a page or a worker: there a shared connection pool, CORS and the limit of live
 * instances matter. Node with a DOM for tests is none; a renderer of Electron is one, though it has `process`.
 */
export function isBrowser(): boolean {
  if (globals.Deno !== undefined || globals.Bun !== undefined) return false;
  if (isWorkerd()) return false;
  const { process } = globals;
  if (process?.versions?.node !== undefined) return process.type === "renderer" || process.type === "worker";
  return globals.document !== undefined || typeof globals.WorkerGlobalScope === "function";
}

/** Whether this is workerd, in Cloudflare's Workers or elsewhere. */
export function isWorkerd(): boolean {
  return globals.navigator?.userAgent === "Cloudflare-Workers";
}

/**
 * How many bodies may be open at once, where that is known: a browser opens six connections per host to a server that
 * speaks HTTP/1.1, and a seventh request never leaves. It speaks no HTTP/2 without TLS; with TLS, what was loaded from
 * the same origin tells.
 */
export function mostConcurrent(url: string): number | undefined {
  if (!isBrowser()) return undefined;
  const { protocol, origin } = new URL(url);
  const entries = globals.performance?.getEntriesByType?.("resource") ?? [];
  const isOld = entries.some(
    (entry) => entry.nextHopProtocol === "http/1.1" && entry.name.startsWith(`${origin}/`),
  );
  return protocol === "http:" || isOld ? 5 : undefined;
}

/** Whether the endpoint is of another origin than the page: then `fetch` hides why it rejects, and CORS may be why. */
export function isCrossOrigin(url: string): boolean {
  const base = isBrowser() ? baseUrl() : undefined;
  return base !== undefined && new URL(url).origin !== new URL(base).origin;
}

/** What a relative URL is relative to: the page or the worker's script, where there is one. */
export function baseUrl(): string | undefined {
  try {
    return globals.location?.href;
  } catch {
    return undefined;
  }
}

/** A module of Node's, where the runtime has it at hand, without an import that a bundler would follow. */
export function builtin<T>(id: string): T | undefined {
  const { process } = globalThis as { process?: { getBuiltinModule?(id: string): unknown } };
  try {
    return process?.getBuiltinModule?.(id) as T | undefined;
  } catch {
    return undefined;
  }
}

/** 53 random bits as an integer. */
export function randomSeed(): number {
  const words = new Uint32Array(2);
  if (globals.crypto?.getRandomValues === undefined) {
    return Math.floor(Math.random() * 2 ** 53);
  }
  globals.crypto.getRandomValues(words);
  const [high = 0, low = 0] = words;
  return (high >>> 11) * 2 ** 32 + low;
}

// A clock that never goes back.

/**
 * A clock in whole epoch milliseconds that never goes back: the wall clock is read once, at the first use, and from there on
 * the monotonic one counts, so that a corrected wall clock fires or delays no timer.
 */
export function createClock(): () => number {
  let origin: number | undefined;
  let last = 0;
  return () => {
    const elapsed = timers.now();
    origin ??= Date.now() - elapsed;
    last = Math.max(last, Math.floor(origin + elapsed));
    return last;
  };
}
