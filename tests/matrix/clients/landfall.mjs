// landfall, stand-alone, with its default clocks but where the fault says otherwise.
import { readFile } from "node:fs/promises";
import { connect, ServerError, ToolCallFailedError } from "../../../target/npm/entry/index.js";

const { version } = JSON.parse(
  await readFile(new URL("../../../target/npm/package.json", import.meta.url), "utf8"),
);

export const landfall = {
  name: `landfall ${version}`,
  // Longer than any bound of the table.
  observeMs: 10_000,

  async open(url, { timeouts }) {
    const session = await connect(url, { era: "resumable", timeouts });
    return {
      call: (tool, args) => session.callTool(tool, args).result,
      close: () => session.close(),
    };
  },

  explain(error) {
    if (error instanceof ToolCallFailedError) return { outcome: "failed", reason: error.reason };
    if (error instanceof ServerError) return { outcome: "error", reason: String(error.code) };
    return { outcome: "failed", reason: error.name };
  },
};
