// The fetch that a provider of credentials is given.
import type { FetchLike } from "../api/options.js";
import { observed } from "../base/promise.js";
import { isBrowser } from "../base/runtime.js";
import { refuseAddress } from "./addresses.js";
import { cancel } from "./source.js";

/** What of the user's goes into the requests of a provider, and whose server they are for. */
export interface ProviderFetchSettings {
  fetch: FetchLike | undefined;
  requestInit: RequestInit;
  /** `redirectPolicy: "follow"`: redirects are fetch's own business. */
  follow: boolean;
  endpoint: URL;
}

interface Hop {
  url: URL;
  init: RequestInit;
}

const redirects = new Set([301, 302, 303, 307, 308]);
const mostHops = 5;

/**
 * The user's fetch with what belongs to every request; the headers among that go to the endpoint's origin only. Where it
 * can, it follows redirects itself, for each hop is another origin's word. Rejects for an address that a server may not
 * name.
 */
export function fetchOfProvider(settings: ProviderFetchSettings): FetchLike {
  const { requestInit, endpoint, follow } = settings;
  return (url, init = {}) => {
    const { redirect, ...rest } = init;
    const wanted = (follow ? undefined : redirect) ?? requestInit.redirect ?? "follow";
    const first = () => ({ url: new URL(url, endpoint), init: rest });
    return observed(
      Promise.resolve().then(() =>
        wanted !== "follow" || follow ? sent(settings, first(), wanted) : followed(settings, first()),
      ),
    );
  };
}

/** One request. */
function sent(
  settings: ProviderFetchSettings,
  { url, init }: Hop,
  redirect: RequestRedirect,
): Promise<Response> {
  const { fetch, requestInit, endpoint } = settings;
  refuseAddress("a request of authProvider", url, endpoint);
  const users = isAtHome(url, endpoint) ? requestInit.headers : undefined;
  const headers = new Headers(users ?? undefined);
  for (const [name, value] of new Headers(init.headers ?? undefined)) headers.set(name, value);
  const send = fetch ?? globalThis.fetch;
  return send(url, { ...requestInit, ...init, redirect, headers });
}

/** One request and the redirects that answer it. */
async function followed(settings: ProviderFetchSettings, first: Hop): Promise<Response> {
  const { requestInit, endpoint } = settings;
  let hop = first;
  for (let made = 0; made <= mostHops; made += 1) {
    const carries = requestInit.headers !== undefined && isAtHome(hop.url, endpoint);
    // A browser tells nothing of a redirect that it does not follow.
    if (isBrowser() && !carries) return sent(settings, hop, "follow");
    const response = await sent(settings, hop, "manual");
    if (response.type === "opaqueredirect") return followedUnseen(settings, hop);
    const place = redirects.has(response.status) ? response.headers.get("location") : null;
    if (place === null) return response;
    cancel(response.body);
    hop = next(hop, response.status, new URL(place, hop.url));
  }
  throw new Error("a request of authProvider was redirected too often");
}

/** What carries nothing of the user's may go anywhere; what has a body can't be asked for twice. */
function followedUnseen(settings: ProviderFetchSettings, hop: Hop): Promise<Response> {
  if ((hop.init.method ?? "GET").toUpperCase() !== "GET")
    throw new Error('a request of authProvider was redirected (redirectPolicy: "follow" leaves it to fetch)');
  const { requestInit } = settings;
  const { headers: _users, ...rest } = requestInit;
  return sent({ ...settings, requestInit: rest }, hop, "follow");
}

/** The request that a redirect asks for, as fetch makes it; but what has a body stays in its origin. */
function next({ url, init }: Hop, status: number, target: URL): Hop {
  const method = (init.method ?? "GET").toUpperCase();
  const headers = new Headers(init.headers ?? undefined);
  if (target.origin !== url.origin)
    for (const name of ["authorization", "cookie", "dpop"]) headers.delete(name);
  const isPost = method !== "GET" && method !== "HEAD";
  if (isPost && status < 304) {
    for (const name of ["content-type", "content-length"]) headers.delete(name);
    const { body: _body, ...rest } = init;
    return { url: target, init: { ...rest, method: "GET", headers } };
  }
  if (isPost && target.origin !== url.origin)
    throw new Error(
      `a request of authProvider with a body is redirected to ${target.origin}, and does not leave its origin ` +
        '(redirectPolicy: "follow" leaves it to fetch)',
    );
  return { url: target, init: { ...init, headers } };
}

function isAtHome(url: URL, endpoint: URL): boolean {
  return url.origin === endpoint.origin;
}
