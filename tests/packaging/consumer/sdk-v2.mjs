// SDK 2's Client in the place of a session.
import { Client } from "@modelcontextprotocol/client";
import { LandfallTransport } from "landfall/v2";
import { connectBy } from "./client.mjs";

export const connect = connectBy(Client, LandfallTransport);
