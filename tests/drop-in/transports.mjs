// The transport that the clients are given: landfall's, or with DROP_IN=official the one each of them brings along.

export const isOfficial = process.env.DROP_IN === "official";

/** What the package exports; nothing of it is loaded for the official transports. */
export const landfall = isOfficial ? {} : await import("../../target/npm/entry/index.js");

const entries = isOfficial
  ? {}
  : {
      ".": landfall,
      "./v1": await import("../../target/npm/entry/v1.js"),
      "./v2": await import("../../target/npm/entry/v2.js"),
    };

/** Options of a test that the official transports can't pass. */
export const ours = isOfficial ? { skip: "not so with the official transports" } : {};

/** A transport for a client of clients/, from the entry of the package that is made for it. */
export function createTransport(client, url, options = {}, entry = client.entry) {
  if (!isOfficial) return new entries[entry].LandfallTransport(url, options);
  const { timeouts, replay, retry, onevent, terminateSessionOnClose, ...known } = options;
  return client.official(new URL(url), known);
}

/** How a call ended, as the rows of the matrix tell it; `known` is what landfall knows of its execution. */
export function explain(client, error) {
  const { ToolCallFailedError } = landfall;
  if (ToolCallFailedError === undefined || !(error instanceof ToolCallFailedError)) {
    return { ...client.explain(error), error };
  }
  return { outcome: "failed", reason: error.reason, known: error.outcome, error };
}

/** Each transport that takes `(url, options)`, for tests that speak to it without a client. */
export const kinds = isOfficial
  ? await officialKinds()
  : Object.entries(entries).map(([entry, { LandfallTransport }]) => ({
      name: entry,
      create: (url, options) => new LandfallTransport(url, options),
    }));

async function officialKinds() {
  const { sdkV1, sdkV2Legacy } = await import("./clients/all.mjs");
  return [sdkV1, sdkV2Legacy].map(({ name, official }) => ({
    name,
    create: (url, options) => official(new URL(url), options),
  }));
}
