// SDK 1's Client in the place of a session.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { LandfallTransport } from "landfall/v1";
import { connectBy } from "./client.mjs";

export const connect = connectBy(Client, LandfallTransport);
