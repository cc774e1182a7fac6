// A server on stdin and stdout, for the gateways.
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { newServer } from "./server-v1.mjs";

process.stdin.on("end", () => process.exit());
await newServer().connect(new StdioServerTransport());
