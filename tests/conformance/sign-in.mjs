// Who signs in how, by scenario: the same for each client that the suite tests.
import {
  ClientCredentialsProvider,
  CrossAppAccessProvider,
  DpopSession,
  PrivateKeyJwtProvider,
  requestJwtAuthorizationGrant,
} from "@modelcontextprotocol/client";
import { InMemoryOAuthProvider } from "./oauth-provider.mjs";

export const CLIENT = { name: "landfall-conformance", version: "1.0.0" };
/** Where the suite's authorization servers expect the document of a client that has one. */
const CLIENT_METADATA_URL = "https://conformance-test.local/client-metadata.json";

/** What the suite tells the client of a scenario. */
export const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");

const interactive = (clientInformation) =>
  new InMemoryOAuthProvider({
    name: CLIENT.name,
    clientMetadataUrl: CLIENT_METADATA_URL,
    clientInformation,
  });

async function withProof() {
  const proof = await DpopSession.create();
  return Object.assign(interactive(), { dpop: () => proof });
}

/** Has no user: shows what its platform says it is. */
class WorkloadIdentity extends InMemoryOAuthProvider {
  redirectUrl = undefined;

  prepareTokenRequest(scope) {
    return new URLSearchParams({
      grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
      assertion: context.valid_jwt,
      ...(scope && { scope }),
    });
  }
}

const crossAppAccess = () =>
  new CrossAppAccessProvider({
    clientId: context.client_id,
    clientSecret: context.client_secret,
    assertion: async ({ authorizationServerUrl, resourceUrl, fetchFn }) => {
      const { jwtAuthGrant } = await requestJwtAuthorizationGrant({
        tokenEndpoint: context.idp_token_endpoint,
        audience: authorizationServerUrl,
        resource: resourceUrl,
        idToken: context.idp_id_token,
        clientId: context.idp_client_id,
        fetchFn,
      });
      return jwtAuthGrant;
    },
  });

const PROVIDERS = {
  "auth/pre-registration": () =>
    interactive({ client_id: context.client_id, client_secret: context.client_secret }),
  "auth/client-credentials-jwt": () =>
    new PrivateKeyJwtProvider({
      clientId: context.client_id,
      privateKey: context.private_key_pem,
      algorithm: context.signing_algorithm ?? "ES256",
    }),
  "auth/client-credentials-basic": () =>
    new ClientCredentialsProvider({ clientId: context.client_id, clientSecret: context.client_secret }),
  "auth/enterprise-managed-authorization": crossAppAccess,
  "auth/wif-jwt-bearer": () =>
    new WorkloadIdentity({ name: CLIENT.name, clientInformation: { client_id: context.client_id } }),
  "auth/dpop": withProof,
  "auth/dpop-nonce": withProof,
};

/** The SDK's `OAuthClientProvider` for this scenario. */
export const providerFor = async (scenario) => (PROVIDERS[scenario] ?? interactive)();

/** Where the client must not get in, or gives up. */
export const REFUSED = {
  "auth/resource-mismatch": /does not match expected/,
  "auth/metadata-issuer-mismatch": /Issuer mismatch/,
  "auth/iss-supported-missing": /Issuer mismatch/,
  "auth/iss-unexpected": /Issuer mismatch/,
  "auth/iss-wrong-issuer": /Issuer mismatch/,
  "auth/iss-normalized": /Issuer mismatch/,
  "auth/scope-retry-limit": /unauthorized|forbidden/i,
};
