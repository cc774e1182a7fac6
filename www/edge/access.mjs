// Who may make calls: whoever knows SECRET, or everybody where PUBLIC is "1".

/** Why this request may make no call: a Response, or `undefined` where it may. */
export function forbids(request, env) {
  if (env.PUBLIC === "1") return undefined;
  if (!env.SECRET)
    return Response.json(
      {
        error:
          'this Worker has no secret: `wrangler secret put SECRET`, or PUBLIC = "1" where anybody may call',
      },
      { status: 503 },
    );
  const given = request.headers.get("authorization") ?? "";
  if (isSame(given, `Bearer ${env.SECRET}`)) return undefined;
  return Response.json(
    { error: "a call needs the secret of this Worker" },
    { status: 401, headers: { "www-authenticate": "Bearer" } },
  );
}

/** Takes the same time wherever they differ. */
function isSame(one, other) {
  const [a, b] = [one, other].map((text) => new TextEncoder().encode(text));
  let differs = a.length ^ b.length;
  for (let at = 0; at < b.length; at += 1) differs |= (a[at] ?? 0) ^ b[at];
  return differs === 0;
}
