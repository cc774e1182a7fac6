// Preloaded into servers of others (node --import): they listen on 127.0.0.1 whatever they were written to do, tell
// where on a line of their own, and end with the process that started them, whose pipe their stdin is.
import { Server } from "node:net";

const listen = Server.prototype.listen;
let told = false;

Server.prototype.listen = function (...args) {
  this.once("listening", () => {
    if (told) return;
    told = true;
    process.stdout.write(`\n${JSON.stringify({ port: this.address().port })}\n`);
  });
  const [options] = args;
  if (options === null || typeof options !== "object") {
    const done = args.at(-1);
    const port = Number(options);
    return listen.call(this, { port, host: "127.0.0.1" }, ...(typeof done === "function" ? [done] : []));
  }
  return listen.call(this, { ...options, host: "127.0.0.1" }, ...args.slice(1));
};

process.stdin.on("end", () => process.exit()).resume();
