// nginx and haproxy, each as one would set it up for a server that streams, and with little patience: what says nothing
// for five seconds is cut.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const START_MS = 10_000;

const nginx = (folder, port, upstream) => `
daemon off;
pid ${folder}/pid;
error_log /dev/null;
${process.getuid?.() === 0 ? "user root;" : ""}
events {}
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://127.0.0.1:${upstream};
      proxy_http_version 1.1;
      proxy_buffering off;
      proxy_read_timeout 5s;
    }
  }
}
`;

const haproxy = (_folder, port, upstream) => `
defaults
  mode http
  timeout connect 1s
  timeout client 60s
  timeout server 5s
frontend front
  bind 127.0.0.1:${port}
  default_backend back
backend back
  server only 127.0.0.1:${upstream}
`;

const FRONTS = {
  nginx: { config: nginx, args: (folder, file) => ["-p", folder, "-c", file] },
  haproxy: { config: haproxy, args: (_folder, file) => ["-db", "-q", "-f", file] },
};

/** Returns `{ url, stop() }`. */
export async function startFront(name, upstream) {
  const folder = await mkdtemp(join(tmpdir(), `landfall-${name}-`));
  const file = join(folder, "config");
  const port = await freePort();
  const { config, args } = FRONTS[name];
  await writeFile(file, config(folder, port, upstream));
  const child = spawn(name, args(folder, file), { stdio: ["ignore", "ignore", "inherit"] });
  const ended = once(child, "exit");
  const stop = async () => {
    child.kill("SIGTERM");
    await ended;
    await rm(folder, { recursive: true });
  };
  try {
    await Promise.race([
      answers(port),
      ended.then(([code]) => Promise.reject(new Error(`${name}: exit ${code}`))),
    ]);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: `http://127.0.0.1:${port}/mcp`, stop };
}

async function freePort() {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

async function answers(port) {
  for (const end = Date.now() + START_MS; Date.now() < end; await sleep(50)) {
    const socket = connect(port, "127.0.0.1");
    const open = await once(socket, "connect").then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (open) return;
  }
  throw new Error(`nothing listens on ${port}`);
}
