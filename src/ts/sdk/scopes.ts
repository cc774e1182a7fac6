// Scopes of OAuth.

/** All scopes of these lists, each once; `undefined` where there is none. */
export function unionOf(...lists: readonly (string | undefined)[]): string | undefined {
  const scopes = new Set(lists.flatMap((list) => (list ?? "").split(/\s+/).filter(Boolean)));
  return scopes.size === 0 ? undefined : [...scopes].join(" ");
}
