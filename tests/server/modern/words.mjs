// The names and numbers of 2026-07-28, and of its tasks extension.

export const MODERN = "2026-07-28";
const PREFIX = "io.modelcontextprotocol";
/** Members of `_meta`. */
export const VERSION = `${PREFIX}/protocolVersion`;
export const CLIENT_INFO = `${PREFIX}/clientInfo`;
export const CAPABILITIES = `${PREFIX}/clientCapabilities`;
export const LOG_LEVEL = `${PREFIX}/logLevel`;
export const SERVER_INFO = `${PREFIX}/serverInfo`;
export const SUBSCRIPTION = `${PREFIX}/subscriptionId`;
/** The extension. */
export const TASKS = `${PREFIX}/tasks`;

export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const HEADER_MISMATCH = -32020;
export const MISSING_CAPABILITY = -32021;
export const UNSUPPORTED_VERSION = -32022;

/** A request that is answered by a JSON-RPC error; `status` is that of HTTP, as long as no stream was opened. */
export class Refused extends Error {
  constructor(code, message, { status = 400, data } = {}) {
    super(message);
    Object.assign(this, { code, status, data });
  }
}

/** What is missing of the capabilities that are needed, or undefined. */
export function missingOf(needed, declared = {}) {
  const missing = Object.entries(needed).flatMap(([name, wanted]) => {
    if (name !== "extensions") return declared[name] === undefined ? [[name, wanted]] : [];
    const extensions = missingOf(wanted, declared.extensions);
    return extensions ? [[name, extensions]] : [];
  });
  return missing.length === 0 ? undefined : Object.fromEntries(missing);
}

export function requireCapabilities(needed, declared) {
  const requiredCapabilities = missingOf(needed, declared);
  if (!requiredCapabilities) return;
  throw new Refused(MISSING_CAPABILITY, "Missing required client capability", {
    data: { requiredCapabilities },
  });
}
