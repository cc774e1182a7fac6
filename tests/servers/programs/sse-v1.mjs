// HTTP+SSE of 2024-11-05 by the TypeScript SDK 1. PORT
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { newServer } from "./server-v1.mjs";
import { serveSse } from "./sse.mjs";

serveSse(SSEServerTransport, newServer, Number(process.argv[2]));
