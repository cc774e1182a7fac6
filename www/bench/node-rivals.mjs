// The rivals in Node, of the packages that are installed here.
import { createMCPClient } from "@ai-sdk/mcp";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { createParser } from "eventsource-parser";
import { connect } from "../../target/npm/entry/index.js";
import { LandfallTransport } from "../../target/npm/entry/v2.js";
import { alone, bare, transport, transportOf } from "./rivals.mjs";

// The others know no such bound: by the default most of 1,000 calls would wait.
const limits = { maxConcurrent: 1_100 };

export const makers = {
  landfall: transport((url) => new LandfallTransport(url, { limits })),
  "landfall alone": alone(connect),
  bare: bare({ createParser }),
  sdk: transport((url) => new StreamableHTTPClientTransport(url)),
  "sdk 1": transport((url) => new TransportV1(url)),
  ai: transportOf((url) => createMCPClient({ transport: { type: "http", url } })),
};
