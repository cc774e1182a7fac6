// The transports that are compared: for each generation of the SDK the official one, and ours in its place.
// The built package is loaded only where it is asked for.

/** The one that is tested, against what the official one does. */
export const SUBJECT = process.env.LANDFALL_SUBJECT ?? "landfall";

const MODULES = {
  official: {
    v1: ["@modelcontextprotocol/sdk/client/streamableHttp.js", "StreamableHTTPClientTransport"],
    v2: ["@modelcontextprotocol/client", "StreamableHTTPClientTransport"],
  },
  landfall: {
    v1: ["../../target/npm/entry/v1.js", "LandfallTransport"],
    v2: ["../../target/npm/entry/v2.js", "LandfallTransport"],
  },
};

/** The class, to be constructed with `(url, options)`: `name` is "official" or "landfall", `sdk` is "v1" or "v2". */
export async function transportClass(name, sdk) {
  const [module, exported] = MODULES[name][sdk];
  return (await import(module))[exported];
}
