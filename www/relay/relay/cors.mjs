// What pages of other origins may send and read: the headers of every version of the protocol.
const ALLOWED = [
  ...["accept", "authorization", "content-type", "last-event-id", "mcp-session-id", "mcp-protocol-version"],
  ...["mcp-method", "mcp-name"],
];
const EXPOSED = ["mcp-session-id", "mcp-protocol-version", "retry-after", "www-authenticate"];
const DAY = "86400";

/** The answer to a preflight. */
export function preflight(request) {
  const wished = (request.headers.get("access-control-request-headers") ?? "").toLowerCase().split(",");
  const params = wished.map((each) => each.trim()).filter((each) => /^mcp-param-[\w-]{1,64}$/.test(each));
  const isPrivate = request.headers.get("access-control-request-private-network") === "true";
  return new Response(null, {
    status: 204,
    headers: {
      "access-control-allow-methods": "GET, POST, DELETE",
      "access-control-allow-headers": [...ALLOWED, ...params.slice(0, 32)].join(", "),
      "access-control-max-age": DAY,
      ...(isPrivate ? { "access-control-allow-private-network": "true" } : {}),
    },
  });
}

/** A response as the page of this origin may read it. */
export function readable(response, origin) {
  if (origin === null) return response;
  const copy = new Response(response.body, response);
  copy.headers.set("access-control-allow-origin", origin);
  copy.headers.append("vary", "Origin");
  copy.headers.set("access-control-expose-headers", EXPOSED.join(", "));
  return copy;
}
