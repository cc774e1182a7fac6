// The AI SDK's client, versions 1 and 2. It has no timer, and its version 2 asks each server first what it speaks.
import * as version1 from "@ai-sdk/mcp";
import * as version2 from "ai-mcp-2";
import { aiSdk as rival } from "../../matrix/clients/ai-sdk.mjs";
import { installed } from "../../matrix/clients/installed.mjs";

function aiSdk({ createMCPClient, ElicitationRequestSchema }, version, era, more = "") {
  return {
    name: `@ai-sdk/mcp ${version}${more}`,
    era,
    entry: ".",
    hasTimer: false,
    explain: rival.explain,
    official: (url, { fetch, requestInit, sessionId }) => ({
      type: "http",
      url: url.href,
      headers: requestInit?.headers,
      initialSessionId: sessionId,
      fetch,
    }),

    async open(transport, { capabilities, answers = {}, onerror = () => {}, maxRetries } = {}) {
      const client = await createMCPClient({ transport, capabilities, maxRetries, onUncaughtError: onerror });
      const elicit = answers["elicitation/create"];
      if (elicit) client.onElicitationRequest(ElicitationRequestSchema, elicit);
      const tools = await client.tools();
      return {
        client,
        list: () => client.listTools(),
        call: (name, args, { signal } = {}) =>
          tools[name].execute(args, { toolCallId: "drop-in", messages: [], abortSignal: signal }),
        close: () => client.close(),
      };
    },
  };
}

export const aiSdk1 = aiSdk(version1, await installed("@ai-sdk/mcp"), "legacy");
export const aiSdk2 = aiSdk(version2, await installed("ai-mcp-2"), "legacy");
export const aiSdk2Modern = aiSdk(version2, await installed("ai-mcp-2"), "modern", ", modern");
