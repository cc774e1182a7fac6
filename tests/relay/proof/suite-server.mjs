// The server that the conformance suite's server scenarios ask for, on the official SDK: nobody publishes one.
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import * as schemas from "@modelcontextprotocol/sdk/types.js";
import { InMemoryEventStore } from "../../migration/event-store.mjs";
import { serveSessions } from "./sdk-server.mjs";
import { IMAGE, TOOLS } from "./suite-tools.mjs";

const LOCAL = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/;
const CAPABILITIES = {
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {},
};

/** `{ url, close() }`, on this machine. */
export function startSuiteServer() {
  const transport = () => ({ eventStore: new InMemoryEventStore(), retryInterval: 500 });
  return serveSessions({ newServer, transport, refuses: (headers) => !isLocal(headers) });
}

function isLocal({ host = "", origin }) {
  return LOCAL.test(host) && (origin === undefined || LOCAL.test(origin.replace(/^https?:\/\//, "")));
}

function newServer() {
  const server = new Server({ name: "suite", version: "1.0.0" }, { capabilities: CAPABILITIES });
  addTools(server);
  addResources(server);
  addPrompts(server);
  return server;
}

function addTools(server) {
  const tools = Object.entries(TOOLS).map(([name, { description, inputSchema }]) => ({
    ...{ name, description, inputSchema },
  }));
  server.setRequestHandler(schemas.ListToolsRequestSchema, () => ({ tools }));
  server.setRequestHandler(schemas.CallToolRequestSchema, ({ params }, extra) => {
    const tool = TOOLS[params.name];
    if (tool === undefined) throw new schemas.McpError(schemas.ErrorCode.InvalidParams, "no such tool");
    return tool.run(params.arguments ?? {}, extra);
  });
}

const resource = (name, mimeType, more) => ({
  uri: `test://${name}`,
  name,
  description: name,
  mimeType,
  ...more,
});
const RESOURCES = [
  resource("static-text", "text/plain", { text: "This is the content of the static text resource." }),
  resource("static-binary", "image/png", { blob: IMAGE.data }),
  resource("watched-resource", "text/plain", { text: "watched" }),
];
const TEMPLATE = {
  uriTemplate: "test://template/{id}/data",
  name: "template",
  description: "template",
  mimeType: "application/json",
};

function contentOf(uri) {
  const known = RESOURCES.find((each) => each.uri === uri);
  if (known !== undefined) {
    const { name: _name, description: _description, ...content } = known;
    return content;
  }
  const [, id] = /^test:\/\/template\/([^/]+)\/data$/.exec(uri) ?? [];
  if (id === undefined)
    throw new schemas.McpError(schemas.ErrorCode.InvalidParams, "Resource not found", { uri });
  const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
  return { uri, mimeType: TEMPLATE.mimeType, text };
}

function addResources(server) {
  const resources = RESOURCES.map(({ text: _text, blob: _blob, ...listed }) => listed);
  server.setRequestHandler(schemas.ListResourcesRequestSchema, () => ({ resources }));
  server.setRequestHandler(schemas.ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: [TEMPLATE],
  }));
  server.setRequestHandler(schemas.ReadResourceRequestSchema, ({ params }) => ({
    contents: [contentOf(params.uri)],
  }));
  server.setRequestHandler(schemas.SubscribeRequestSchema, () => ({}));
  server.setRequestHandler(schemas.UnsubscribeRequestSchema, () => ({}));
}

const says = (...contents) => ({ messages: contents.map((content) => ({ role: "user", content })) });
const text = (said) => ({ type: "text", text: said });
const PROMPTS = {
  test_simple_prompt: { names: [], get: () => says(text("This is a simple prompt for testing.")) },
  test_prompt_with_arguments: {
    names: ["arg1", "arg2"],
    get: ({ arg1, arg2 }) => says(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  },
  test_prompt_with_embedded_resource: {
    names: ["resourceUri"],
    get({ resourceUri: uri }) {
      const resource = { uri, mimeType: "text/plain", text: "Embedded resource content for testing." };
      return says({ type: "resource", resource }, text("Please process the embedded resource above."));
    },
  },
  test_prompt_with_image: {
    names: [],
    get: () => says(IMAGE, text("Please analyze the image above.")),
  },
};

function addPrompts(server) {
  const prompts = Object.entries(PROMPTS).map(([name, { names }]) => ({
    ...{ name, description: name },
    arguments: names.map((each) => ({ name: each, description: each, required: true })),
  }));
  server.setRequestHandler(schemas.ListPromptsRequestSchema, () => ({ prompts }));
  server.setRequestHandler(schemas.GetPromptRequestSchema, ({ params }) => {
    const prompt = PROMPTS[params.name];
    if (prompt === undefined) throw new schemas.McpError(schemas.ErrorCode.InvalidParams, "no such prompt");
    return prompt.get(params.arguments ?? {});
  });
  const values = ["paris", "park", "party"];
  server.setRequestHandler(schemas.CompleteRequestSchema, ({ params }) => ({
    completion: { values: values.filter((each) => each.startsWith(params.argument.value)), hasMore: false },
  }));
}
