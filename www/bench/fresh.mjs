// node fresh.mjs cold|memory landfall|sdk URL: what can be measured once in a process only. Prints it as JSON.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const [what, who, url] = process.argv.slice(2);

const memories = [];
if (what === "memory") {
  WebAssembly.Instance = new Proxy(WebAssembly.Instance, {
    construct(target, args) {
      const instance = Reflect.construct(target, args);
      memories.push(Object.values(instance.exports).find((each) => each instanceof WebAssembly.Memory));
      return instance;
    },
  });
}

const clients = {
  async landfall() {
    const { connect } = await import("../../target/npm/entry/index.js");
    return {
      open: () => connect(url),
      call: (session) => session.callTool("bench", {}).result,
    };
  },
  async sdk() {
    const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
    return {
      async open() {
        const client = new Client({ name: "bench", version: "1.0.0" });
        await client.connect(new StreamableHTTPClientTransport(new URL(url)));
        return client;
      },
      call: (client) => client.callTool({ name: "bench", arguments: {} }),
    };
  },
};

function used(since) {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1_000;
}

async function cold() {
  const start = process.cpuUsage();
  const { open, call } = await clients[who]();
  const imported = used(start);
  const answer = await call(await open());
  if (answer.content[0].text !== "done") throw new Error("no answer");
  return { import: imported, answer: used(start) };
}

/** Sessions that share no instance, each after its first call. */
async function memory() {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc");
  const { open, call } = await clients[who]();
  const sessions = [];
  const openMany = async (count) => {
    for (let n = 0; n < count; n += 1) {
      const session = await open();
      await call(session);
      sessions.push(session);
    }
    for (let n = 0; n < 5; n += 1) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      gc();
    }
    return process.memoryUsage().heapUsed;
  };
  const before = await openMany(8);
  const count = 16;
  const after = await openMany(count);
  const wasm = memories.reduce((sum, { buffer }) => sum + buffer.byteLength, 0) / sessions.length;
  return { heap: (after - before) / count / 1_024, wasm: wasm / 1_024 };
}

console.log(JSON.stringify(await { cold, memory }[what]()));
process.exit(0);
