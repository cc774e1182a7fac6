// Servers with TLS, under a certificate that is made for the run.
import { execFileSync } from "node:child_process";
import { createSecureServer } from "node:http2";
import { createServer } from "node:https";
import { onPath } from "../../www/build/path.mjs";
import { FaultServer } from "../server/server.mjs";
import { siteHandler } from "./site.mjs";

/** Why there can be no certificate. */
export const NO_TLS = onPath("openssl") ? undefined : "no openssl";

function certificate() {
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc", "-keyout", "-"];
  const args = ["req", "-x509", ...key, "-subj", "/CN=127.0.0.1", "-days", "2", "-batch"];
  const pem = execFileSync("openssl", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  return { key: pem, cert: pem };
}

/**
 * The fault server and the site, of one origin, over HTTP/2 or over HTTPS with HTTP/1.1:
 * `{ origin, url, log, connections(), cut(), close() }`; `connections` counts those that brought requests to the server,
 * `cut` drops all there are.
 */
export async function createSecureSite({ http2 }) {
  const faults = new FaultServer();
  const site = siteHandler();
  const carriers = new Set();
  const handler = (req, res) => {
    if (!req.url.startsWith("/mcp")) return site(req, res);
    carriers.add(req.stream?.session ?? req.socket);
    return faults.handle(req, res);
  };
  const server = (http2 ? createSecureServer : createServer)(certificate(), handler);
  const sockets = new Set();
  server.on("secureConnection", (socket) => sockets.add(socket));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `https://127.0.0.1:${server.address().port}`;
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    origin,
    url: `${origin}/mcp`,
    log: faults.log,
    connections: () => carriers.size,
    cut,
    close() {
      faults.reset();
      cut();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
