// Starts the server of the load, and asks it.
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

/** `{ url, ask(what, ...args), stop() }` */
export async function startServer() {
  const child = fork(fileURLToPath(new URL("server.mjs", import.meta.url)), { execArgv: [] });
  const waiting = new Map();
  let asked = 0;
  const url = await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", () => reject(new Error("the server of the load does not start")));
    child.once("message", (message) => resolve(message.url));
  });
  child.on("message", ({ id, answer }) => {
    waiting.get(id)(answer);
    waiting.delete(id);
  });
  return {
    url,
    ask(what, ...args) {
      asked += 1;
      child.send({ id: asked, ask: what, args });
      return new Promise((resolve) => waiting.set(asked, resolve));
    },
    stop() {
      const exited = new Promise((resolve) => child.once("exit", resolve));
      child.disconnect();
      return exited;
    },
  };
}
