// A tool of the TypeScript SDK 2 that asks its client: by a request of its own in a session, by its result at 2026-07-28.
import { acceptedContent, inputRequired } from "@modelcontextprotocol/server";
import { z } from "zod";
import { note } from "./journal.mjs";

const choice = z.object({ colour: z.string() });

/** `choose` gives the colour that the user chose. It runs once more when it was answered. */
export function addAskingTools(server) {
  server.registerTool("choose", { inputSchema: z.object({ key: z.string() }) }, ({ key }, { mcpReq }) => {
    note("ran", key);
    const chosen = acceptedContent(mcpReq.inputResponses, "colour", choice);
    if (chosen) return { content: [{ type: "text", text: chosen.colour }] };
    const colour = inputRequired.elicit({ message: "Which colour?", requestedSchema: choice });
    return inputRequired({ inputRequests: { colour } });
  });
}
