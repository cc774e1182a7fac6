// stand-alone.mjs URL: the client that the conformance suite tests, landfall's own `connect`. What it has to do comes from the
// suite, in the environment; client.mjs is the same for SDK 2's Client. It prints FINISHED once all went as it should.
import assert from "node:assert/strict";
import { auth, extractWWWAuthenticateParams, withDpopFromProvider } from "@modelcontextprotocol/client";
import { connect } from "../../target/npm/entry/index.js";
import { CLIENT, context, providerFor, REFUSED } from "./sign-in.mjs";
import { FINISHED } from "./suite.mjs";

const MODERN = "2026-07-28";

const scenario = process.env.MCP_CONFORMANCE_SCENARIO;
const isModern = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION === MODERN;
const url = process.argv[2];
const { origin, pathname } = new URL(url);

/** A revision is tested by itself: a suite of 2026-07-28 does not want to be asked for an earlier one first. */
const open = (options) =>
  connect(url, { clientInfo: CLIENT, era: isModern ? "modern" : "legacy", ...options });

/** Some of the suite's servers don't answer `server/discover`: what they would say is known from an earlier session. */
const known = {
  state: {
    version: 1,
    endpoint: origin + pathname,
    era: "modern",
    protocolVersion: MODERN,
    greeting: JSON.stringify({
      resultType: "complete",
      supportedVersions: [MODERN],
      capabilities: { tools: { listChanged: true }, resources: {}, prompts: {} },
      ttlMs: 0,
      cacheScope: "private",
    }),
  },
};

/** How an application gets OAuth into `connect`: the flow is the SDK's, and the user consents at once. */
const oauth = (provider) => ({
  token: async () => (await provider.tokens())?.access_token,
  async onUnauthorized({ response, serverUrl, fetchFn }) {
    const { scope, resourceMetadataUrl } = extractWWWAuthenticateParams(response);
    const options = { serverUrl, scope, resourceMetadataUrl, fetchFn };
    if ((await auth(provider, options)) === "AUTHORIZED") return;
    const callback = provider.takeCallback();
    const authorizationCode = callback.get("code");
    await auth(provider, { ...options, authorizationCode, iss: callback.get("iss") ?? undefined });
  },
});

async function signedIn(provider) {
  const fetch = provider.dpop ? { fetch: withDpopFromProvider(provider)(globalThis.fetch) } : {};
  const session = await open({ authProvider: oauth(provider), ...fetch });
  await session.listTools();
  await session.callTool("test-tool", {});
  await session.close();
}

async function listTools() {
  const session = await open();
  await session.listTools();
  await session.close();
}

async function callTool(name, args = {}) {
  const session = await open();
  await session.listTools();
  await session.callTool(name, args);
  await session.close();
}

/** What the user leaves as it is has its default. */
function defaultsOf({ requestedSchema }) {
  const fields = Object.entries(requestedSchema.properties);
  return Object.fromEntries(
    fields.flatMap(([name, field]) => (field.default === undefined ? [] : [[name, field.default]])),
  );
}

async function elicitation() {
  const session = await open({
    capabilities: { elicitation: { form: { applyDefaults: true } } },
    onRequest: async ({ params }) => ({ action: "accept", content: defaultsOf(params) }),
  });
  await session.listTools();
  await session.callTool("test_client_elicitation_defaults", {});
  await session.close();
}

async function echoSchema() {
  const session = await open();
  const tools = await session.listTools();
  const { inputSchema } = tools.find(({ name }) => name === "json_schema_2020_12_tool");
  await session.callTool("json_schema_echo", { schema: inputSchema });
  await session.close();
}

async function requestMetadata() {
  const capabilities = { roots: { listChanged: true }, sampling: {}, elicitation: {} };
  const session = await open({ capabilities });
  // It was refused with the versions that there are, which is all that opening a session asks for.
  await session.listTools();
  await session.close();
}

async function standardHeaders() {
  const session = await open(known);
  const [tool] = await session.listTools();
  await session.callTool(tool.name, {});
  const { resources } = await session.request("resources/list");
  await session.request("resources/read", { uri: resources[0].uri });
  const { prompts } = await session.request("prompts/list");
  await session.request("prompts/get", { name: prompts[0].name, arguments: {} });
  await session.close();
}

async function customHeaders() {
  const session = await open(known);
  await session.listTools();
  for (const { name, arguments: args } of context.toolCalls) await session.callTool(name, args);
  await session.close();
}

async function invalidToolHeaders() {
  const session = await open(known);
  for (const { name } of await session.listTools()) await session.callTool(name, { region: "us-west1" });
  await session.close();
}

async function inputsOfTheUser() {
  const session = await open({
    ...known,
    capabilities: { elicitation: {} },
    onRequest: async () => ({ action: "accept", content: { confirmed: true } }),
  });
  for (const name of ["test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated"]) {
    await session.callTool(name, {});
  }
  // Its result lacks the `resultType` that the revision asks for: it may be refused, but not be asked again.
  await session.callTool("test_mrtr_no_result_type", {}).catch(() => {});
  await session.close();
}

const SCENARIOS = {
  initialize: listTools,
  tools_call: () => callTool("add_numbers", { a: 5, b: 3 }),
  "elicitation-sep1034-client-defaults": elicitation,
  "sse-retry": () => callTool("test_reconnection"),
  "request-metadata": requestMetadata,
  "http-standard-headers": standardHeaders,
  "http-custom-headers": customHeaders,
  "http-invalid-tool-headers": invalidToolHeaders,
  "sep-2322-client-request-state": inputsOfTheUser,
  "json-schema-ref-no-deref": listTools,
  "json-schema-2020-12-preservation": echoSchema,
};

const saysOf = ({ message, cause }) => (cause instanceof Error ? `${message}: ${saysOf(cause)}` : message);

const run =
  SCENARIOS[scenario] ??
  (scenario.startsWith("auth/") && (async () => signedIn(await providerFor(scenario))));
if (!run) throw new Error(`unknown scenario ${scenario}`);
if (REFUSED[scenario]) await assert.rejects(run, (error) => REFUSED[scenario].test(saysOf(error)));
else await run();
console.log(FINISHED);
