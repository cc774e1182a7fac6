// HTTP+SSE of 2024-11-05 by the TypeScript SDK 2, which has it in a package of its own. PORT
import { McpServer } from "@modelcontextprotocol/server";
import { SSEServerTransport } from "@modelcontextprotocol/server-legacy/sse";
import { serveSse } from "./sse.mjs";
import { addTools } from "./tools.mjs";

const newServer = () =>
  addTools(new McpServer({ name: "servers", version: "1.0.0" }, { capabilities: { logging: {} } }));

serveSse(SSEServerTransport, newServer, Number(process.argv[2]));
