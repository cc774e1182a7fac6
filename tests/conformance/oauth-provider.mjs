// An OAuth client that keeps everything in memory, and a user who consents at once: the redirect is fetched, and what
// it brings is kept for `finishAuth`.

const REDIRECT_URL = "http://localhost:3000/callback";

export class InMemoryOAuthProvider {
  redirectUrl = REDIRECT_URL;
  #kept = {};
  #callback;

  /** `clientInformation` is given where the client was registered beforehand. */
  constructor({ name, clientMetadataUrl, clientInformation }) {
    this.clientMetadata = { client_name: name, redirect_uris: [REDIRECT_URL] };
    this.clientMetadataUrl = clientMetadataUrl;
    this.#kept.client = clientInformation;
  }

  clientInformation() {
    return this.#kept.client;
  }

  saveClientInformation(client) {
    this.#kept.client = client;
  }

  tokens() {
    return this.#kept.tokens;
  }

  saveTokens(tokens) {
    this.#kept.tokens = tokens;
    // What was discovered belongs to one sign-in: by the next, the resource may trust another server.
    this.invalidateCredentials("discovery");
  }

  codeVerifier() {
    return this.#kept.verifier;
  }

  saveCodeVerifier(verifier) {
    this.#kept.verifier = verifier;
  }

  discoveryState() {
    return this.#kept.discovery;
  }

  saveDiscoveryState(discovery) {
    this.#kept.discovery = discovery;
  }

  invalidateCredentials(what) {
    if (what === "all") this.#kept = {};
    else delete this.#kept[what];
  }

  async redirectToAuthorization(url) {
    const response = await fetch(url, { redirect: "manual" });
    await response.body?.cancel();
    const location = response.headers.get("location");
    if (!location)
      throw new Error(`the authorization endpoint answers ${response.status}, and redirects nowhere`);
    this.#callback = new URL(location).searchParams;
  }

  /** The query of the last redirect, once. */
  takeCallback() {
    const callback = this.#callback;
    this.#callback = undefined;
    return callback;
  }
}
