// The TypeScript server behind OAuth: the resource server and the authorization server of SDK 1, with everything in
// memory and a user who consents at once.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { InvalidTokenError } from "@modelcontextprotocol/sdk/server/auth/errors.js";
import { requireBearerAuth } from "@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js";
import {
  getOAuthProtectedResourceMetadataUrl,
  mcpAuthRouter,
} from "@modelcontextprotocol/sdk/server/auth/router.js";
import { createMcpExpressApp } from "@modelcontextprotocol/sdk/server/express.js";
import { listen, stopListening, TypeScriptServer } from "./typescript-server.mjs";

const LIFETIME_S = 3600;

/**
 * Returns `{ url, announce(url), expireTokens(), refreshes, executions(key), stop() }`. Clients may be told to come to
 * another address, a proxy's.
 */
export async function startProtectedServer() {
  const server = new TypeScriptServer();
  const provider = new ConsentingProvider();
  let app;
  const listener = createServer((request, response) => app(request, response));
  const issuer = await listen(listener);
  const announce = (url) => {
    app = protectedApp(server, provider, { issuer: new URL(issuer), resource: new URL(url) });
  };
  announce(`${issuer}/mcp`);
  return {
    url: `${issuer}/mcp`,
    announce,
    expireTokens: () => provider.expireTokens(),
    get refreshes() {
      return provider.refreshes;
    },
    executions: async (key) => server.executions.get(key) ?? 0,
    async stop() {
      await server.close();
      await stopListening(listener);
    },
  };
}

function protectedApp(server, provider, { issuer, resource }) {
  const app = createMcpExpressApp();
  app.use(
    mcpAuthRouter({
      provider,
      issuerUrl: issuer,
      resourceServerUrl: resource,
      authorizationOptions: { rateLimit: false },
      clientRegistrationOptions: { rateLimit: false },
      tokenOptions: { rateLimit: false },
    }),
  );
  const resourceMetadataUrl = getOAuthProtectedResourceMetadataUrl(resource);
  app.all("/mcp", requireBearerAuth({ verifier: provider, resourceMetadataUrl }), (request, response) =>
    server.answer(request, response, request.method === "POST" ? request.body : undefined),
  );
  return app;
}

class ConsentingProvider {
  refreshes = 0;
  #clients = new Map();
  #codes = new Map();
  #accessTokens = new Map();
  #refreshTokens = new Set();

  clientsStore = {
    getClient: (id) => this.#clients.get(id),
    registerClient: (client) => {
      this.#clients.set(client.client_id, client);
      return client;
    },
  };

  async authorize(_client, { codeChallenge, redirectUri, state }, response) {
    const code = randomUUID();
    this.#codes.set(code, codeChallenge);
    const url = new URL(redirectUri);
    url.searchParams.set("code", code);
    if (state) url.searchParams.set("state", state);
    response.redirect(url.href);
  }

  async challengeForAuthorizationCode(_client, code) {
    return this.#codes.get(code);
  }

  async exchangeAuthorizationCode({ client_id }, code) {
    this.#codes.delete(code);
    return this.#tokensFor(client_id);
  }

  async exchangeRefreshToken({ client_id }, refreshToken) {
    if (!this.#refreshTokens.delete(refreshToken)) throw new InvalidTokenError("the refresh token was used");
    this.refreshes += 1;
    return this.#tokensFor(client_id);
  }

  async verifyAccessToken(token) {
    const clientId = this.#accessTokens.get(token);
    if (!clientId) throw new InvalidTokenError("the access token has expired");
    return { token, clientId, scopes: [], expiresAt: Date.now() / 1000 + LIFETIME_S };
  }

  expireTokens() {
    this.#accessTokens.clear();
  }

  #tokensFor(clientId) {
    const tokens = {
      access_token: randomUUID(),
      refresh_token: randomUUID(),
      token_type: "bearer",
      expires_in: LIFETIME_S,
    };
    this.#accessTokens.set(tokens.access_token, clientId);
    this.#refreshTokens.add(tokens.refresh_token);
    return tokens;
  }
}
