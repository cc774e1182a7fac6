// What has to be right with a request before it is looked at: its `_meta`, and headers that say what its body says.

import { headersOf } from "./tools.mjs";
import {
  CAPABILITIES,
  HEADER_MISMATCH,
  INVALID_PARAMS,
  Refused,
  UNSUPPORTED_VERSION,
  VERSION,
} from "./words.mjs";

/** Where the value of `Mcp-Name` stands. */
const NAMED = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

const mismatch = (header, sent, meant) =>
  new Refused(
    HEADER_MISMATCH,
    `Header mismatch: ${header} is ${JSON.stringify(sent)}, the body has ${JSON.stringify(meant)}`,
  );

/** Whether this request claims to be of this era: nothing but the claim is looked at. */
export const isModern = (headers, message) =>
  message?.params?._meta?.[VERSION] !== undefined || headers["mcp-method"] !== undefined;

/** Throws what is wrong with it. */
export function checkRequest(headers, { method, params = {} }, supported) {
  const meta = params._meta;
  const told = headers["mcp-protocol-version"];
  const version = meta?.[VERSION];
  // Of another era, which has no `_meta` to be missed.
  if (version === undefined && told !== undefined) checkVersion(told, supported);
  const missing = [VERSION, CAPABILITIES].filter((name) => meta?.[name] === undefined);
  if (missing.length > 0) {
    throw new Refused(INVALID_PARAMS, `Invalid params: _meta lacks ${missing.join(", ")}`);
  }
  if (typeof meta[CAPABILITIES] !== "object" || meta[CAPABILITIES] === null) {
    throw new Refused(INVALID_PARAMS, `Invalid params: ${CAPABILITIES} is no object`);
  }
  if (told !== version) throw mismatch("MCP-Protocol-Version", told, version);
  checkVersion(version, supported);
  if (headers["mcp-method"] !== method) throw mismatch("Mcp-Method", headers["mcp-method"], method);
  checkName(headers["mcp-name"], params[NAMED[method]], NAMED[method] !== undefined);
}

function checkVersion(requested, supported) {
  if (supported.includes(requested)) return;
  throw new Refused(UNSUPPORTED_VERSION, "Unsupported protocol version", { data: { supported, requested } });
}

function checkName(sent, meant, needed) {
  if (!needed) return;
  if (sent === undefined || decoded(sent) !== meant) throw mismatch("Mcp-Name", sent, meant);
}

/** `Mcp-Param-*`: each argument that its tool wants in a header is there, and no other value. */
export function checkParams(headers, tool, args = {}) {
  for (const { header, path, type } of headersOf(tool)) {
    const meant = path.reduce((value, name) => value?.[name], args) ?? undefined;
    const raw = headers[`mcp-param-${header.toLowerCase()}`];
    const sent = raw === undefined ? undefined : decoded(raw);
    const same = type === "integer" && sent !== undefined ? Number(sent) === meant : sent === textOf(meant);
    if (!same) throw mismatch(`Mcp-Param-${header}`, raw, meant);
  }
}

const textOf = (value) => (value === undefined ? undefined : String(value));

const SENTINEL = /^=\?base64\?(.*)\?=$/s;

function decoded(value) {
  const [, encoded] = SENTINEL.exec(value) ?? [];
  return encoded === undefined ? value : Buffer.from(encoded, "base64").toString("utf8");
}
