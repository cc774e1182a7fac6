// What the relay is set to do, from the environment of a Worker or of a process.

/** It can't be run like this. */
export class SetupError extends Error {}

const MIB = 2 ** 20;

// How long, how many: each may be set under its name.
const NUMBERS = {
  GRACE_MS: 60_000,
  IDLE_MS: 30 * 60_000,
  REPEAT_MS: 10_000,
  STREAM_MS: 15 * 60_000,
  CALL_MS: 10 * 60_000,
  DEADLINE_MS: 60 * 60_000,
  MOST_SESSIONS: 100,
  MOST_CALLS: 64,
  MOST_KEPT_BYTES: 64 * MIB,
  MOST_BODY_BYTES: 4 * MIB,
  MOST_EVENT_BYTES: 16 * MIB,
};

/** Reads the settings. Throws a SetupError for what is missing: an open door is a decision of somebody's. */
export function readSettings(env, { hasAccess = false } = {}) {
  if (!env.UPSTREAM) throw new SetupError("UPSTREAM is missing: the URL of the MCP server behind this relay");
  const isPublic = env.PUBLIC === "1";
  if (!env.SECRET && !hasAccess && !isPublic)
    throw new SetupError(
      "this relay has no SECRET, no access check, and does not say PUBLIC=1: nobody may call",
    );
  const numbers = Object.entries(NUMBERS).map(([name, preset]) => [
    camel(name),
    number(name, env[name], preset),
  ]);
  return {
    ...Object.fromEntries(numbers),
    upstream: upstreamOf(env.UPSTREAM),
    upstreamToken: env.UPSTREAM_TOKEN || undefined,
    secret: env.SECRET || undefined,
    isPublic,
    tools: names(env.TOOLS),
    origins: names(env.ORIGINS),
    hosts: names(env.HOSTS),
  };
}

/** Whether a name is on a list: by itself, or because all are. */
export const isListed = (list, name) => list.has("*") || list.has(name);

function names(text = "") {
  return new Set(
    text
      .split(",")
      .map((each) => each.trim())
      .filter((each) => each !== ""),
  );
}

function number(name, given, preset) {
  if (given === undefined || given === "") return preset;
  const value = Number(given);
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new SetupError(`${name} must be a whole number above 0, not ${given}`);
}

function upstreamOf(text) {
  let url;
  try {
    url = new URL(text);
  } catch {
    throw new SetupError("UPSTREAM is no URL");
  }
  if (/^https?:$/.test(url.protocol) && url.username === "" && url.password === "") return url.href;
  throw new SetupError("UPSTREAM must be http(s), without a user: a token goes into UPSTREAM_TOKEN");
}

function camel(name) {
  return name.toLowerCase().replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
}
