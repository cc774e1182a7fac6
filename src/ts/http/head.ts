// The head of a response, as the core reads it.

/** What the core reads of a head. */
export interface Head {
  status: number;
  contentType: string | undefined;
  sessionId: string | undefined;
  retryAfter: string | undefined;
  /** There is a `www-authenticate`, and whether it asks for more scope. */
  challenge: "none" | "some" | "scope";
  /** It is a redirect, or was one where the runtime followed it; a browser may hide all of it. */
  redirect: "none" | "leads" | "followed" | "hidden";
  /** The address that a redirect leads to, or led to. */
  target: string | undefined;
  /** The target is of the origin that was asked. */
  isSameOrigin: boolean;
}

type Redirection = Pick<Head, "redirect" | "target" | "isSameOrigin">;

const straight: Redirection = { redirect: "none", target: undefined, isSameOrigin: false };

/** The head of a response to a request to `asked`. A `fetch` of the user's may give anything that has a status. */
export function headOf(response: Response, asked: string): Head {
  const { status, headers } = response;
  const challenge = textIn(headers, "www-authenticate");
  const location = status >= 300 && status < 400 ? textIn(headers, "location") : undefined;
  const { redirect, target, isSameOrigin } = redirection(response, location, asked);
  return {
    status,
    contentType: textIn(headers, "content-type"),
    sessionId: textIn(headers, "mcp-session-id"),
    retryAfter: textIn(headers, "retry-after"),
    challenge: challenge === undefined ? "none" : challenge.includes("insufficient_scope") ? "scope" : "some",
    redirect,
    target,
    isSameOrigin,
  };
}

function textIn(headers: Headers, name: string): string | undefined {
  try {
    const value: unknown = headers.get(name);
    return typeof value === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}

/** What is known of a redirect. */
function redirection(response: Response, location: string | undefined, asked: string): Redirection {
  try {
    if (response.type === "opaqueredirect") return { ...straight, redirect: "hidden" };
    if (location !== undefined) return to("leads", new URL(location, asked), asked);
    if (response.redirected === true) return to("followed", new URL(response.url), asked);
  } catch {
    // An address that is none leads nowhere.
  }
  return straight;
}

function to(redirect: "leads" | "followed", { href, origin }: URL, asked: string): Redirection {
  return { redirect, target: href, isSameOrigin: origin === new URL(asked).origin };
}
