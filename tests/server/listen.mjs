// How each server of these tests listens, and ends.
import { createServer } from "node:http";

/** Starts a server on this machine, whose requests `handle` takes: `{ origin, close() }`. `reset` ends what it has open. */
export async function listen({ port = 0, host = "127.0.0.1", handle, reset }) {
  const server = createServer(handle);
  // Node's default of 5 s makes a client that comes back just then meet a dying socket: a fault nobody scripted.
  server.keepAliveTimeout = 65_000;
  await new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  return {
    origin: `http://${host}:${server.address().port}`,
    async close() {
      reset();
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
