// The compatibility matrix of the specification's versioning page, as a table: what a client of each mode gets of a server of each era.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Client as ClientV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { connect } from "../../target/npm/entry/index.js";
import { LandfallTransport as TransportV1 } from "../../target/npm/entry/v1.js";
import { LandfallTransport as TransportV2 } from "../../target/npm/entry/v2.js";
import { createModernServer } from "../server/modern/server.mjs";
import { createFaultServer } from "../server/server.mjs";
import { createSseServer } from "../server/sse.mjs";

const INFO = { name: "compatibility", version: "1.0.0" };
const CALL = { name: "scripted", arguments: { key: "call", steps: [] } };

const standAlone = (era) => async (url) => {
  const session = await connect(url, { era, logger: false });
  await session.callTool(CALL.name, CALL.arguments);
  await session.close();
  return `${session.era} ${session.protocolVersion}`;
};

const dropIn = (newClient, Transport) => async (url) => {
  const client = newClient();
  await client.connect(new Transport(new URL(url), { logger: false }));
  await client.callTool(CALL);
  await client.close();
  return "answer";
};
const clientV2 = (mode) => () => new ClientV2(INFO, { versionNegotiation: { mode } });

/** By its name, what opens a session, makes a call, and tells the version. */
const CLIENTS = {
  "connect, legacy": standAlone("legacy"),
  "connect, modern": standAlone("modern"),
  "connect, sse": standAlone("sse"),
  "connect, auto": standAlone("auto"),
  "SDK 1's Client": dropIn(() => new ClientV1(INFO), TransportV1),
  "SDK 2's Client, legacy": dropIn(clientV2("legacy"), TransportV2),
  "SDK 2's Client, auto": dropIn(clientV2("auto"), TransportV2),
};

const LEGACY = "legacy 2025-11-25";
const MODERN = "modern 2026-07-28";
/** What a client of one era is told of a server of the other: by its SDK's Client what the server said, no more. */
const ONLY_MODERN = /the server speaks protocol version 2026-07-28 only/;
const SAID = /: Unsupported protocol version$/;
/** What an SDK's Client says of any of these is what the server said. */
const NO_STREAM = /GET: the server answered 40\d/;
const NO_SUCH = /40[45]|Cannot POST/;
const NO_DISCOVER = /the server refused server\/discover/;

const SERVERS = {
  "legacy only": {
    start: () => createFaultServer(),
    "connect, legacy": LEGACY,
    "connect, modern": NO_DISCOVER,
    "connect, sse": NO_STREAM,
    "connect, auto": LEGACY,
    "SDK 1's Client": "answer",
    "SDK 2's Client, legacy": "answer",
    "SDK 2's Client, auto": "answer",
  },
  "modern only": {
    start: () => createModernServer(),
    "connect, legacy": ONLY_MODERN,
    "connect, modern": MODERN,
    "connect, sse": NO_STREAM,
    "connect, auto": MODERN,
    "SDK 1's Client": SAID,
    "SDK 2's Client, legacy": SAID,
    "SDK 2's Client, auto": "answer",
  },
  "HTTP+SSE only": {
    start: () => createSseServer(),
    "connect, legacy": NO_SUCH,
    "connect, modern": NO_SUCH,
    "connect, sse": "sse 2024-11-05",
    "connect, auto": "sse 2024-11-05",
    "SDK 1's Client": NO_SUCH,
    "SDK 2's Client, legacy": NO_SUCH,
    "SDK 2's Client, auto": NO_SUCH,
  },
  "both, with sessions": {
    start: () => createModernServer({ legacy: "sessions" }),
    "connect, legacy": LEGACY,
    "connect, modern": MODERN,
    "connect, sse": NO_STREAM,
    "connect, auto": LEGACY,
    "SDK 1's Client": "answer",
    "SDK 2's Client, legacy": "answer",
    "SDK 2's Client, auto": "answer",
  },
  "both, without sessions": {
    start: () => createModernServer({ legacy: "stateless" }),
    "connect, legacy": LEGACY,
    "connect, modern": MODERN,
    "connect, sse": NO_STREAM,
    "connect, auto": MODERN,
    "SDK 1's Client": "answer",
    "SDK 2's Client, legacy": "answer",
    "SDK 2's Client, auto": "answer",
  },
};

for (const [name, { start, ...outcomes }] of Object.entries(SERVERS)) {
  describe(`a server that is ${name}`, () => {
    let server;
    before(async () => {
      server = await start();
    });
    after(() => server.close());

    for (const [client, outcome] of Object.entries(outcomes)) {
      test(`${client}: ${outcome instanceof RegExp ? "is told why not" : outcome}`, async () => {
        server.reset();
        const opened = CLIENTS[client](server.url);
        if (outcome instanceof RegExp) {
          await assert.rejects(opened, (error) => outcome.test(error.message) || assert.fail(error));
          assert.equal(server.executions("call"), 0);
          return;
        }
        assert.equal(await opened, outcome);
        assert.equal(server.executions("call"), 1);
      });
    }
  });
}
