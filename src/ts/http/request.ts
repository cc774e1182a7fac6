// A request of the core's as `fetch` takes it.

/** What may be followed, and what of landfall's and of the user's goes along. */
export type Manner = "guarded" | "following" | "bare";

/** One HTTP request to make. */
export interface HttpRequest {
  /** What it is known by. */
  exchange: number;
  /** The call that it is for, where it is for one. */
  call: number | undefined;
  /** Where to; the endpoint, where it is not said. */
  url: string | undefined;
  method: "GET" | "POST" | "DELETE";
  /**
   * `guarded`: redirects are told, and not followed. `following`: they are. `bare`: the same, and nothing of landfall's or of
   * the user's goes along.
   */
  manner: Manner;
  /** The core's own, by their names in lower case. */
  headers: Readonly<Record<string, string>>;
  body: string | undefined;
}

/** What of `init` is the core's to say. Nothing is set that a runtime may refuse: workerd refuses most cache modes. */
export function initOf({ method, manner, body }: HttpRequest, isBrowser: boolean): RequestInit {
  // A manual redirect is followed or not by the core. Browsers hide where it leads.
  const init: RequestInit = { method, redirect: manner === "guarded" ? "manual" : "follow" };
  if (body !== undefined) init.body = body;
  // Browsers queue parallel GETs of one URL behind each other, in case the first can be cached.
  if (isBrowser && method === "GET") init.cache = "no-store";
  if (manner === "bare") {
    init.credentials = "omit";
    init.referrerPolicy = "no-referrer";
  }
  return init;
}

/** It is for a stream that may have nothing to say for days: for what belongs to no call. */
export function isEndless({ method, headers }: HttpRequest): boolean {
  return method === "GET" || headers["mcp-method"] === "subscriptions/listen";
}
