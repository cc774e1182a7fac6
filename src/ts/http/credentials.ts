// Where requests get their credentials, and other ones after a refusal.
import { ConfigError } from "../api/errors.js";
import type { AuthProvider, ConnectOptions, FetchLike } from "../api/options.js";
import { within } from "../base/promise.js";
import { brand, harmless, hide } from "../base/thrown.js";

/** What is known of a failure beside its event. */
export interface Failure {
  /** What was thrown, as it is. */
  thrown?: unknown;
  /** What is wrong with the headers, where they are why nothing was sent. */
  unsendable?: string;
  /** The provider of credentials threw it. */
  byProvider?: boolean;
  /** The last response of the call, where it was a refusal. */
  refusal?: Response;
  /** The status and the text of a refusal. */
  status?: number;
  body?: string;
}

/** What new credentials are needed for: a 401, or a 403 whose challenge asks for more scope. */
export type RefreshCause = "unauthorized" | "step_up";

/** Where the requests of a session get their credentials. */
export interface Credentials {
  /** The bearer token of one request, if there is one. */
  token(): Promise<string | undefined> | string | undefined;
  /** Gets other credentials, by the response that refused; throws where there are none to be had. */
  refresh(refusal: Response, why: RefreshCause, fetch: FetchLike): Promise<void>;
  /** Redeems what the user agent brought back. */
  finish?(codeOrParams: string | URLSearchParams, iss: string | undefined, fetch: FetchLike): Promise<void>;
  /** How often one call may ask for more scope. */
  readonly maxStepUps: number;
  /** A 403 that wants more scope is answered by asking for it, and not the caller's to judge. */
  readonly asksForScope?: boolean;
}

/** Makes credentials of the option `authProvider`. Throws {@link ConfigError} for a provider that it can't use. */
export type ReadProvider = (provider: unknown, serverUrl: URL, options: ConnectOptions) => Credentials;

/** The error of credentials that the server does not take, where no SDK has a class for it. */
export function plainUnauthorized(message = "Unauthorized"): Error {
  return hide(brand(new Error(message), "UnauthorizedError"), "name", "UnauthorizedError");
}

/** Reads the small provider; `unauthorized` makes the error of a 401 that it has no answer to. */
export function smallProviders(unauthorized: () => Error = plainUnauthorized): ReadProvider {
  return (given, serverUrl) => {
    const provider = checkedProvider(given);
    return {
      maxStepUps: 0,
      token: () => provider.token(),
      async refresh(response, _why, fetchFn) {
        if (provider.onUnauthorized === undefined) throw unauthorized();
        await provider.onUnauthorized({ response, serverUrl, fetchFn });
      },
    };
  };
}

/** An SDK's OAuthClientProvider, which that SDK's own `auth` has to drive. */
export function isOAuthProvider(provider: unknown): boolean {
  const { tokens, clientInformation } = (provider ?? {}) as Record<string, unknown>;
  return typeof tokens === "function" && typeof clientInformation === "function";
}

function checkedProvider(provider: unknown): AuthProvider {
  if (isOAuthProvider(provider)) {
    throw new ConfigError(
      "authProvider",
      "authProvider is an OAuthClientProvider of an SDK: import LandfallTransport from landfall/v1 " +
        "(@modelcontextprotocol/sdk) or landfall/v2 (@modelcontextprotocol/client), which drive it",
    );
  }
  const { token, onUnauthorized } = (provider ?? {}) as Record<string, unknown>;
  if (typeof token !== "function")
    throw new ConfigError("authProvider", "authProvider must have a function token()");
  if (onUnauthorized !== undefined && typeof onUnauthorized !== "function")
    throw new ConfigError("authProvider", "authProvider.onUnauthorized must be a function");
  return provider as AuthProvider;
}

interface RefreshSettings {
  credentials: Credentials | undefined;
  handshakeMs: number;
  handshakeClock: string;
  providerFetch: FetchLike;
}

/** Gets new credentials for one connection, one flight at a time. A flight that was given up has no word any more. */
export class CredentialRefresh {
  readonly #settings: RefreshSettings;
  readonly #tell: (ok: boolean) => void;
  #flight: AbortController | undefined;
  #failure: Failure = {};

  /** `tell` is told how each flight ended. */
  constructor(settings: RefreshSettings, tell: (ok: boolean) => void) {
    this.#settings = settings;
    this.#tell = tell;
  }

  /** What the last flight failed with. */
  get failure(): Failure {
    return this.#failure;
  }

  /** Begins a flight; `denied` is told what the provider threw. */
  begin(refusal: Response, why: RefreshCause, denied: (thrown: unknown) => void): void {
    const { credentials, handshakeMs, handshakeClock, providerFetch } = this.#settings;
    this.stop();
    this.#failure = {};
    const flight = new AbortController();
    this.#flight = flight;
    const { signal } = flight;
    // A flow that was given up sends nothing more.
    const fetch: FetchLike = async (url, init) => {
      signal.throwIfAborted();
      return providerFetch(url, { ...init, signal: init?.signal ?? signal });
    };
    const late = () => new Error(`authProvider has no new credentials within ${handshakeClock}`);
    const refresh = () => Promise.resolve().then(() => credentials?.refresh(refusal, why, fetch));
    within(handshakeMs, refresh, late, signal).then(
      () => this.#end(flight),
      (given) => {
        const thrown = harmless(given);
        if (this.#end(flight, { thrown, byProvider: true })) denied(thrown);
      },
    );
  }

  /** Ends the flight that is under way: nothing is told of it. */
  stop(): void {
    this.#flight?.abort(new DOMException("landfall ended this exchange", "AbortError"));
    this.#flight = undefined;
  }

  /** False where it was given up before. */
  #end(flight: AbortController, failure?: Failure): boolean {
    if (this.#flight !== flight) return false;
    this.stop();
    this.#failure = failure ?? {};
    this.#tell(failure === undefined);
    return true;
  }
}
