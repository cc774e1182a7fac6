// The same for a bundler, which finds landfall by its name and takes the entry that its conditions ask for.
export { createMCPClient } from "@ai-sdk/mcp";
export { StreamableHTTPClientTransport as TransportV2 } from "@modelcontextprotocol/client";
export { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
export { createParser } from "eventsource-parser";
export { connect } from "landfall";
export { LandfallTransport } from "landfall/v2";
