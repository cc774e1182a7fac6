// What @modelcontextprotocol/client brings along: its OAuth flow and its errors.
import {
  type AuthOptions,
  auth,
  computeScopeUnion,
  discoverOAuthServerInfo,
  extractWWWAuthenticateParams,
  InsufficientScopeError,
  isStrictScopeSuperset,
  type OAuthClientProvider,
  OAuthError,
  SdkErrorCode,
  SdkHttpError,
  UnauthorizedError,
  validateAuthorizationResponseIssuer,
  withDpopFromProvider,
} from "@modelcontextprotocol/client";
import type { ConnectOptions, FetchLike } from "../api/options.js";
import { refuseAddress } from "../http/addresses.js";
import { type Credentials, isOAuthProvider, type ReadProvider, smallProviders } from "../http/credentials.js";
import type { Sdk } from "./binding.js";
import { plainErrors, type Refused, type SdkErrors } from "./errors.js";

const codes: Record<Refused, SdkErrorCode> = {
  message: SdkErrorCode.ClientHttpNotImplemented,
  stream: SdkErrorCode.ClientHttpFailedToOpenStream,
  termination: SdkErrorCode.ClientHttpFailedToTerminateSession,
  credentials: SdkErrorCode.ClientHttpAuthentication,
  scope: SdkErrorCode.ClientHttpForbidden,
};

const errors: SdkErrors = {
  ...plainErrors,
  http: (refused, message, refusal, options) =>
    new SdkHttpError(codes[refused], message, { ...refusal }, options),
  unauthorized: (message) => new UnauthorizedError(message),
  insufficientScope(refusal) {
    const { error, scope, resourceMetadataUrl, errorDescription } = extractWWWAuthenticateParams(refusal);
    if (error !== "insufficient_scope") return undefined;
    return new InsufficientScopeError({
      ...(scope === undefined ? {} : { requiredScope: scope }),
      ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }),
      ...(errorDescription === undefined ? {} : { errorDescription }),
    });
  },
};

const small = smallProviders(() => errors.unauthorized());

const readProvider: ReadProvider = (provider, serverUrl, options) =>
  isOAuthProvider(provider)
    ? new OAuth(provider as OAuthClientProvider, serverUrl, options)
    : small(provider, serverUrl, options);

/** Credentials of an OAuthClientProvider, got by the SDK's own flow as the SDK's own transport runs it. */
class OAuth implements Credentials {
  readonly maxStepUps: number;
  readonly asksForScope: boolean;
  readonly #provider: OAuthClientProvider;
  readonly #serverUrl: URL;
  readonly #skipIssuerMetadataValidation: boolean | undefined;
  #resourceMetadataUrl: URL | undefined;
  #scope: string | undefined;

  constructor(provider: OAuthClientProvider, serverUrl: URL, options: ConnectOptions) {
    const { onInsufficientScope, maxStepUpRetries = 1, skipIssuerMetadataValidation } = options;
    this.asksForScope = onInsufficientScope !== "throw";
    this.maxStepUps = this.asksForScope ? Math.max(0, Math.floor(maxStepUpRetries) || 0) : 0;
    this.#provider = provider;
    this.#serverUrl = serverUrl;
    this.#skipIssuerMetadataValidation = skipIssuerMetadataValidation;
  }

  async token(): Promise<string | undefined> {
    return (await this.#provider.tokens())?.access_token;
  }

  async refresh(refusal: Response, why: "unauthorized" | "step_up", fetchFn: FetchLike): Promise<void> {
    const { scope, resourceMetadataUrl } = extractWWWAuthenticateParams(refusal);
    if (resourceMetadataUrl !== undefined)
      refuseAddress("resource_metadata", resourceMetadataUrl, this.#serverUrl);
    if (why === "step_up") {
      if (resourceMetadataUrl !== undefined) this.#resourceMetadataUrl = resourceMetadataUrl;
      await this.#stepUp(scope, fetchFn);
      return;
    }
    if (refusal.headers.has("www-authenticate")) {
      this.#resourceMetadataUrl = resourceMetadataUrl;
      // What a step-up had asked for is not narrowed by a later 401.
      this.#scope = computeScopeUnion(this.#scope, scope);
    }
    await this.#run(fetchFn, { scope });
  }

  async finish(
    codeOrParams: string | URLSearchParams,
    iss: string | undefined,
    fetchFn: FetchLike,
  ): Promise<void> {
    const callback =
      typeof codeOrParams === "string"
        ? { authorizationCode: codeOrParams, iss }
        : await this.#read(codeOrParams, fetchFn);
    await this.#run(fetchFn, { scope: this.#scope, ...callback }, "Failed to authorize");
  }

  async #stepUp(challenged: string | undefined, fetchFn: FetchLike): Promise<void> {
    const granted = (await this.#provider.tokens())?.scope;
    this.#scope = computeScopeUnion(this.#scope, granted, challenged);
    // A refresh can't widen what was granted.
    const forceReauthorization = isStrictScopeSuperset(this.#scope, granted);
    await this.#run(fetchFn, { scope: this.#scope, forceReauthorization });
  }

  async #run(
    fetchFn: FetchLike,
    more: { [K in "scope" | "authorizationCode" | "iss"]?: string | undefined } & {
      forceReauthorization?: boolean;
    },
    message?: string,
  ): Promise<void> {
    const options = {
      serverUrl: this.#serverUrl,
      resourceMetadataUrl: this.#resourceMetadataUrl,
      skipIssuerMetadataValidation: this.#skipIssuerMetadataValidation,
      fetchFn,
      ...more,
    };
    // The SDK passes what is undefined, too; only its types say otherwise.
    const result = await auth(this.#provider, options as AuthOptions);
    if (result !== "AUTHORIZED") throw new UnauthorizedError(message);
  }

  /** The callback's parameters. What it says of an error is shown only once its issuer is known to be the right one. */
  async #read(params: URLSearchParams, fetchFn: FetchLike) {
    const iss = params.get("iss") ?? undefined;
    const authorizationCode = params.get("code");
    if (authorizationCode) return { authorizationCode, iss };
    const metadata = await this.#metadata(fetchFn);
    if (metadata === undefined)
      throw new UnauthorizedError("Authorization callback failed and the issuer could not be verified");
    validateAuthorizationResponseIssuer({
      iss,
      expectedIssuer: metadata.issuer,
      issParameterSupported: metadata.authorization_response_iss_parameter_supported === true,
    });
    const error = params.get("error");
    if (!error) throw new UnauthorizedError("Authorization callback contained neither `code` nor `error`");
    const description = params.get("error_description") ?? error;
    throw new OAuthError(error, description, params.get("error_uri") ?? undefined);
  }

  async #metadata(fetchFn: FetchLike) {
    const known = (await this.#provider.discoveryState?.())?.authorizationServerMetadata;
    if (known !== undefined) return known;
    const resourceMetadataUrl = this.#resourceMetadataUrl;
    const options = { fetchFn, ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }) };
    try {
      return (await discoverOAuthServerInfo(this.#serverUrl, options)).authorizationServerMetadata;
    } catch {
      return undefined;
    }
  }
}

/** Version 2 of the SDK. */
export const sdkV2: Sdk = {
  errors,
  readProvider,
  signing(provider, fetch) {
    if (!isOAuthProvider(provider) || !(provider as OAuthClientProvider).dpop) return undefined;
    return withDpopFromProvider(provider as OAuthClientProvider)(fetch);
  },
};
