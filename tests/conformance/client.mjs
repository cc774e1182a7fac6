// client.mjs URL: the client that the conformance suite tests, SDK 2's with the transport that CONFORMANCE_TRANSPORT
// names ("landfall" or "official"). What it has to do comes from the suite, in the environment. It prints FINISHED
// once all went as it should; the suite itself looks only at what was sent.
import assert from "node:assert/strict";
import { Client, UnauthorizedError } from "@modelcontextprotocol/client";
import { transportClass } from "../migration/transports.mjs";
import { CLIENT, context, providerFor, REFUSED } from "./sign-in.mjs";
import { FINISHED } from "./suite.mjs";

const MODERN = "2026-07-28";
const MAX_SIGN_INS = 2;

const scenario = process.env.MCP_CONFORMANCE_SCENARIO;
const isModern = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION === MODERN;
const url = new URL(process.argv[2]);
const Transport = await transportClass(process.env.CONFORMANCE_TRANSPORT, "v2");

const mode = isModern ? "auto" : "legacy";

function newClient(capabilities = {}) {
  return new Client(CLIENT, { capabilities, versionNegotiation: { mode } });
}

async function connected(client, connectOptions) {
  await client.connect(new Transport(url), connectOptions);
  return client;
}

/** Some of the suite's servers don't answer `server/discover`: what they would say is known. */
const discovered = {
  prior: {
    kind: "modern",
    discover: {
      resultType: "complete",
      supportedVersions: [MODERN],
      capabilities: { tools: { listChanged: true }, resources: {}, prompts: {} },
      ttlMs: 0,
      cacheScope: "private",
    },
  },
};

/** Everything a user does while signed in, over an OAuth transport that sends them to sign in where it must. */
async function signedIn(authProvider) {
  const client = newClient();
  let transport;
  let signIns = 0;
  const signingIn = async (attempt) => {
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        const callback = error instanceof UnauthorizedError && authProvider.takeCallback?.();
        if (!callback || ++signIns > MAX_SIGN_INS) throw error;
        await transport.finishAuth(callback);
      }
    }
  };
  await signingIn(() => {
    transport = new Transport(url, { authProvider });
    return client.connect(transport);
  });
  await signingIn(() => client.listTools());
  await signingIn(() => client.callTool({ name: "test-tool", arguments: {} }));
  await client.close();
}

async function listTools() {
  const client = await connected(newClient());
  await client.listTools();
  await client.close();
}

async function callTool(name, args = {}) {
  const client = await connected(newClient());
  await client.listTools();
  await client.callTool({ name, arguments: args });
  await client.close();
}

async function elicitation() {
  const client = newClient({ elicitation: { form: { applyDefaults: true } } });
  client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: {} }));
  await connected(client);
  await client.listTools();
  await client.callTool({ name: "test_client_elicitation_defaults", arguments: {} });
  await client.close();
}

async function echoSchema() {
  const client = await connected(newClient());
  const { tools } = await client.listTools();
  const { inputSchema } = tools.find(({ name }) => name === "json_schema_2020_12_tool");
  await client.callTool({ name: "json_schema_echo", arguments: { schema: inputSchema } });
  await client.close();
}

async function requestMetadata() {
  const client = newClient({ roots: { listChanged: true }, sampling: {}, elicitation: {} });
  await connected(client);
  await client.close();
}

async function standardHeaders() {
  const client = await connected(newClient(), discovered);
  const { tools } = await client.listTools();
  await client.callTool({ name: tools[0].name, arguments: {} });
  const { resources } = await client.listResources();
  await client.readResource({ uri: resources[0].uri });
  const { prompts } = await client.listPrompts();
  await client.getPrompt({ name: prompts[0].name, arguments: {} });
  await client.close();
}

async function customHeaders() {
  const client = await connected(newClient(), discovered);
  await client.listTools();
  for (const { name, arguments: args } of context.toolCalls) await client.callTool({ name, arguments: args });
  await client.close();
}

async function invalidToolHeaders() {
  const client = await connected(newClient(), discovered);
  const { tools } = await client.listTools();
  for (const { name } of tools) await client.callTool({ name, arguments: { region: "us-west1" } });
  await client.close();
}

async function inputsOfTheUser() {
  const client = newClient({ elicitation: {} });
  client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: { confirmed: true } }));
  await connected(client, discovered);
  for (const name of ["test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated"]) {
    await client.callTool({ name, arguments: {} });
  }
  // Its result lacks the `resultType` that the revision asks for: the client may refuse it, but not ask again.
  await client.callTool({ name: "test_mrtr_no_result_type", arguments: {} }).catch(() => {});
  await client.close();
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

const run =
  SCENARIOS[scenario] ??
  (scenario.startsWith("auth/") && (async () => signedIn(await providerFor(scenario))));
if (!run) throw new Error(`unknown scenario ${scenario}`);
if (REFUSED[scenario]) await assert.rejects(run, REFUSED[scenario]);
else await run();
console.log(FINISHED);
