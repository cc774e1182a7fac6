// Who may come in: by secret or by a check of the user's, from which pages, under which name.
import { isListed } from "./settings.mjs";

/** The same caller for all who know the secret, and for all where anybody may call. */
const EVERYBODY = "public";

/**
 * Who calls: a name that is the same for each request of one caller, or a Response that refuses. `access(request)` is the
 * user's own check; it gives the same.
 */
export async function callerOf(request, settings, access) {
  if (access !== undefined) {
    const given = await access(request);
    if (given instanceof Response) return given;
    return typeof given === "string" && given !== "" ? `access ${given}` : refusal();
  }
  if (settings.isPublic) return EVERYBODY;
  return (await knowsSecret(request, settings)) ? "secret" : refusal();
}

/** Whether a request brings the secret. */
export async function knowsSecret(request, { secret }) {
  if (secret === undefined) return false;
  const given = request.headers.get("authorization") ?? "";
  return isSame(given, `Bearer ${secret}`);
}

function refusal() {
  const headers = { "www-authenticate": "Bearer" };
  return Response.json({ error: "this relay has to know who calls" }, { status: 401, headers });
}

/** Takes the same time wherever they differ, and whatever their length: it compares hashes under a random key. */
async function isSame(one, other) {
  const encoder = new TextEncoder();
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey(
    "raw",
    crypto.getRandomValues(new Uint8Array(32)),
    algorithm,
    false,
    ["sign"],
  );
  const sign = async (text) => new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(text)));
  const [a, b] = [await sign(one), await sign(other)];
  let differs = 0;
  for (let at = 0; at < a.length; at += 1) differs |= a[at] ^ b[at];
  return differs === 0;
}

/** Whether the page that asks is one that may; what is no page says none. `http://localhost:*` is any port. */
export function isWelcome(origin, { origins }) {
  if (origin === null) return true;
  return (
    isListed(origins, origin) ||
    isListed(origins, origin.replace(/:\d+$/, ":*")) ||
    hasAnyPort(origins, origin)
  );
}

function hasAnyPort(origins, origin) {
  return !/:\d+$/.test(origin) && origins.has(`${origin}:*`);
}

/** Whether a request is for a name of this machine's: a page of elsewhere may have its own lead here. */
export function isForHere(host, { hosts }) {
  if (hosts.size === 0) return true;
  return host !== null && isListed(hosts, host.replace(/:\d+$/, "").toLowerCase());
}
