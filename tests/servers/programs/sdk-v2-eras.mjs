// The TypeScript SDK 2 by its `createMcpHandler`: 2026-07-28, and of earlier eras what LEGACY says ("reject" or "stateless").
// PORT LEGACY
import { createServer } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { addAskingTools } from "./asking.mjs";
import { addTools } from "./tools.mjs";

const [, , port, legacy] = process.argv;

/** Each request has a server of its own: what a tool brings has to be there in the next one, too. */
const grown = new Set();
const handler = createMcpHandler(newServer, { legacy });

function newServer() {
  const server = new McpServer({ name: "servers", version: "1.0.0" }, { capabilities: { logging: {} } });
  addTools(server, {
    grown,
    onGrown: () => handler.notify.toolsChanged(),
  });
  addAskingTools(server);
  return server;
}

createServer(toNodeHandler(handler)).listen(Number(port));
