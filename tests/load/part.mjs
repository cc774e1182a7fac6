// part.mjs PART CLIENT OPTIONS: one measurement in a process of its own, whose parent gets the result.
import { startServer } from "./remote.mjs";
// Before any client: it watches which instances are made.
import "./memory.mjs";
import { landfall, official } from "./clients.mjs";
import { concurrent, linear } from "./cost.mjs";
import { storm } from "./storm.mjs";
import { TRANSPORTS } from "./transports.mjs";
import { idle, resumes } from "./waits.mjs";

const CLIENTS = { landfall, official };

const PARTS = {
  storm: (client, server, options) => storm(CLIENTS[client], server, options),
  idle: (client, server, options) => idle(CLIENTS[client], server, options),
  linear: (client, server, options) => linear(TRANSPORTS[client], server, options),
  concurrent: (client, server, options) => concurrent(TRANSPORTS[client], server, options),
  resumes: (client, server, options) => resumes(client, server, options),
};

const [part, client, options] = process.argv.slice(2);
const server = await startServer();
process.send(await PARTS[part](client, server, JSON.parse(options)));
await server.stop();
// What a rival still has open keeps no measurement waiting.
process.exit();
