// An MCP server that wants tokens, with its authorization server, as a `fetch`: no socket.
import { stubServer } from "./stub-server.mjs";

const origin = "https://server.test";
export const address = `${origin}/mcp`;

const json = (body, status = 200) => Response.json(body, { status });

/** `accepts(token, body)` says true, or the Response that refuses; `grants` are the answers of the token endpoint. */
export function oauthStub({ accepts = () => true, grants = [], answer = () => undefined } = {}) {
  const asked = [];
  const metadata = {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    response_types_supported: ["code"],
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
  };
  const mcp = stubServer((request) => {
    const token = request.headers.get("authorization");
    const accepted = accepts(token, request);
    return accepted === true ? answer(request) : accepted;
  });
  const fetch = async (url, init = {}) => {
    const { pathname } = new URL(url);
    if (pathname === "/mcp") return mcp.fetch(String(url), init);
    const body = init.body === undefined ? undefined : String(init.body);
    asked.push({ pathname, body });
    if (pathname.startsWith("/.well-known/oauth-protected-resource"))
      return json({ resource: address, authorization_servers: [origin] });
    if (pathname.startsWith("/.well-known/")) return json(metadata);
    if (pathname === "/register") return json({ ...JSON.parse(body), client_id: "client-1" }, 201);
    if (pathname === "/token") return json({ token_type: "Bearer", ...(await grants.shift()?.(body)) });
    return new Response(null, { status: 404 });
  };
  /** The bodies that the token endpoint got. */
  const tokensAsked = () =>
    asked.filter(({ pathname }) => pathname === "/token").map(({ body }) => new URLSearchParams(body));
  return { ...mcp, fetch, tokensAsked };
}

/** A refusal with a challenge. */
export const challenge = (status, more = "") =>
  new Response(`status ${status}`, {
    status,
    headers: {
      "www-authenticate": `Bearer ${more}resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`,
    },
  });

/** An OAuthClientProvider that keeps all in memory. */
export function memoryProvider(tokens) {
  const saved = { tokens, redirects: [] };
  return {
    saved,
    redirectUrl: "https://app.test/callback",
    clientMetadata: { redirect_uris: ["https://app.test/callback"], client_name: "app" },
    clientInformation: () => saved.client,
    saveClientInformation: (client) => {
      saved.client = client;
    },
    tokens: () => saved.tokens,
    saveTokens: (given) => {
      saved.tokens = given;
    },
    redirectToAuthorization: (url) => void saved.redirects.push(url),
    saveCodeVerifier: (verifier) => {
      saved.verifier = verifier;
    },
    codeVerifier: () => saved.verifier,
  };
}
