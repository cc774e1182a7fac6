// A server of the TypeScript SDK 1 with the tools.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { addTools } from "./tools.mjs";

export const newServer = () =>
  addTools(new McpServer({ name: "servers", version: "1.0.0" }, { capabilities: { logging: {} } }));
