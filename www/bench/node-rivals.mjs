// What the rivals' packages export, in Node.
export { createMCPClient } from "@ai-sdk/mcp";
export { StreamableHTTPClientTransport as TransportV2 } from "@modelcontextprotocol/client";
export { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
export { createParser } from "eventsource-parser";
export { connect } from "../../target/npm/entry/index.js";
export { LandfallTransport } from "../../target/npm/entry/v2.js";
