// The tools that the conformance suite asks a server for, by name: `{ description, inputSchema, run(args, extra) }`.
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

export const IMAGE = { type: "image", data: PNG, mimeType: "image/png" };
const text = (said) => ({ type: "text", text: said });
const gives = (...content) => ({ content });

const NO_ARGUMENTS = { type: "object" };
/** Answers are looked at as they came. */
const ANY = z.looseObject({});

const tool = (description, run, inputSchema = NO_ARGUMENTS) => ({ description, inputSchema, run });
const needing = (name) => ({ type: "object", properties: { [name]: { type: "string" } }, required: [name] });

/** A form, and what came of it. */
const asking = (description, properties) =>
  tool(description, async (_args, extra) => {
    const requestedSchema = { type: "object", properties, required: [] };
    const params = { message: "Please fill this in", requestedSchema };
    const { action, content } = await extra.sendRequest({ method: "elicitation/create", params }, ANY);
    return gives(text(`Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`));
  });

const DEFAULTS = {
  name: { type: "string", default: "John Doe" },
  age: { type: "integer", default: 30 },
  score: { type: "number", default: 95.5 },
  status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
  verified: { type: "boolean", default: true },
};

const titled = (value, title) => ({ const: value, title });
const ENUMS = {
  untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
  titledSingle: {
    type: "string",
    oneOf: [
      titled("value1", "First Option"),
      titled("value2", "Second Option"),
      titled("value3", "Third Option"),
    ],
  },
  legacyEnum: {
    type: "string",
    enum: ["opt1", "opt2", "opt3"],
    enumNames: ["Option One", "Option Two", "Option Three"],
  },
  untitledMulti: { type: "array", items: { type: "string", enum: ["option1", "option2", "option3"] } },
  titledMulti: {
    type: "array",
    items: {
      anyOf: [
        titled("value1", "First Choice"),
        titled("value2", "Second Choice"),
        titled("value3", "Third Choice"),
      ],
    },
  },
};

const SCHEMA_2020_12 = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: {
    address: {
      $anchor: "addressDef",
      type: "object",
      properties: { street: { type: "string" }, city: { type: "string" } },
    },
  },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
};

async function logging(_args, extra) {
  for (const [place, data] of [
    "Tool execution started",
    "Tool processing data",
    "Tool execution completed",
  ].entries()) {
    if (place > 0) await sleep(50);
    await extra.sendNotification({ method: "notifications/message", params: { level: "info", data } });
  }
  return gives(text("logged three times"));
}

async function progress(_args, { sendNotification, _meta }) {
  const { progressToken } = _meta ?? {};
  for (const progress of [0, 50, 100]) {
    if (progress > 0) await sleep(50);
    if (progressToken === undefined) continue;
    const params = { progressToken, progress, total: 100 };
    await sendNotification({ method: "notifications/progress", params });
  }
  return gives(text("made progress"));
}

async function sampling({ prompt }, extra) {
  const params = { messages: [{ role: "user", content: text(prompt) }], maxTokens: 100 };
  const { content } = await extra.sendRequest({ method: "sampling/createMessage", params }, ANY);
  return gives(text(`LLM response: ${content?.text}`));
}

async function elicitation({ message }, extra) {
  const requestedSchema = {
    type: "object",
    properties: {
      username: { type: "string", description: "User's response" },
      email: { type: "string", description: "User's email address" },
    },
    required: ["username", "email"],
  };
  const params = { message, requestedSchema };
  const { action, content } = await extra.sendRequest({ method: "elicitation/create", params }, ANY);
  return gives(text(`User response: action: ${action}, content: ${JSON.stringify(content)}`));
}

/** Closes its stream in mid-call: the client is to come back. */
async function reconnection(_args, extra) {
  extra.closeSSEStream?.();
  await sleep(100);
  return gives(text("Reconnected"));
}

const resource = (uri, mimeType, text) => ({ type: "resource", resource: { uri, mimeType, text } });

export const TOOLS = {
  test_simple_text: tool("Text", () => gives(text("This is a simple text response for testing."))),
  test_image_content: tool("An image", () => gives(IMAGE)),
  test_audio_content: tool("A sound", () => gives({ type: "audio", data: WAV, mimeType: "audio/wav" })),
  test_embedded_resource: tool("A resource", () =>
    gives(resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")),
  ),
  test_multiple_content_types: tool("Several", () =>
    gives(
      text("Multiple content types test:"),
      IMAGE,
      resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ),
  ),
  test_tool_with_logging: tool("Logs", logging),
  test_tool_with_progress: tool("Tells progress", progress),
  test_error_handling: tool("Fails", () => ({
    isError: true,
    ...gives(text("This tool intentionally returns an error for testing")),
  })),
  test_sampling: tool("Asks a model", sampling, needing("prompt")),
  test_elicitation: tool("Asks the user", elicitation, needing("message")),
  test_elicitation_sep1034_defaults: asking("Asks with defaults", DEFAULTS),
  test_elicitation_sep1330_enums: asking("Asks with choices", ENUMS),
  test_reconnection: tool("Is cut off", reconnection),
  json_schema_2020_12_tool: tool("Has a schema of 2020-12", () => gives(text("valid")), SCHEMA_2020_12),
};
