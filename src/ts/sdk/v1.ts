// What @modelcontextprotocol/sdk brings along: its OAuth flow and its errors.
import {
  auth,
  extractWWWAuthenticateParams,
  type OAuthClientProvider,
  UnauthorizedError,
} from "@modelcontextprotocol/sdk/client/auth.js";
import { StreamableHTTPError } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { describeFailure } from "../api/errors.js";
import type { FetchLike } from "../api/options.js";
import { brand } from "../base/thrown.js";
import { refuseAddress } from "../http/addresses.js";
import { type Credentials, isOAuthProvider, type ReadProvider, smallProviders } from "../http/credentials.js";
import type { Sdk } from "./binding.js";
import { describeRefusal, markRefused, plainErrors, type SdkErrors } from "./errors.js";

const errors: SdkErrors = {
  http(refused, message, refusal, options) {
    const text = refused === "credentials" ? "Server returned 401 after successful authentication" : message;
    const error = new StreamableHTTPError(refusal.status, text);
    return describeRefusal(Object.assign(error, options), refusal);
  },
  // What the official class gives where the content is of no type that it knows.
  unexpected: (message, options) => Object.assign(new StreamableHTTPError(-1, message), options),
  failed(event, refusal, options) {
    if (refusal === undefined) return plainErrors.failed(event, refusal, options);
    // Of both classes: users of this SDK look for its own.
    const error = Object.assign(new StreamableHTTPError(undefined, event.message), options);
    return markRefused(describeFailure(error, event), event, refusal);
  },
  unauthorized: (message) => brand(new UnauthorizedError(message), "UnauthorizedError"),
};

const small = smallProviders(() => errors.unauthorized());

const readProvider: ReadProvider = (provider, serverUrl, options) =>
  isOAuthProvider(provider)
    ? oauth(provider as OAuthClientProvider, serverUrl, stepUps(options))
    : small(provider, serverUrl, options);

function stepUps({ onInsufficientScope, maxStepUpRetries = 1 }: Parameters<ReadProvider>[2]): number {
  return onInsufficientScope === "throw" ? 0 : Math.max(0, Math.floor(maxStepUpRetries) || 0);
}

function oauth(provider: OAuthClientProvider, serverUrl: URL, maxStepUps: number): Credentials {
  let resourceMetadataUrl: URL | undefined;
  let scope: string | undefined;
  const run = async (fetchFn: FetchLike, authorizationCode?: string) => {
    const result = await auth(provider, {
      serverUrl,
      fetchFn,
      ...(authorizationCode === undefined ? {} : { authorizationCode }),
      ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }),
      ...(scope === undefined ? {} : { scope }),
    });
    if (result !== "AUTHORIZED") throw new UnauthorizedError();
  };
  return {
    maxStepUps,
    token: async () => (await provider.tokens())?.access_token,
    async refresh(refusal, why, fetchFn) {
      const challenge = extractWWWAuthenticateParams(refusal);
      const named = challenge.resourceMetadataUrl;
      if (named !== undefined) refuseAddress("resource_metadata", named, serverUrl);
      if (challenge.resourceMetadataUrl !== undefined || why === "unauthorized")
        resourceMetadataUrl = challenge.resourceMetadataUrl;
      const granted = why === "step_up" ? (await provider.tokens())?.scope : undefined;
      scope = unionOf(scope, granted, challenge.scope);
      await run(fetchFn);
    },
    async finish(codeOrParams, _iss, fetchFn) {
      const code = typeof codeOrParams === "string" ? codeOrParams : codeOrParams.get("code");
      if (!code) throw new UnauthorizedError("the authorization callback has no code");
      await run(fetchFn, code);
    },
  };
}

/** Version 1 of the SDK. */
export const sdkV1: Sdk = { errors, readProvider };

// Scopes of OAuth.

/** All scopes of these lists, each once; `undefined` where there is none. */
export function unionOf(...lists: readonly (string | undefined)[]): string | undefined {
  const scopes = new Set(lists.flatMap((list) => (list ?? "").split(/\s+/).filter(Boolean)));
  return scopes.size === 0 ? undefined : [...scopes].join(" ");
}
