// What a user's program does with a client, each a function `(sdk, open, options) -> what it saw`. `open(options)` makes
// a transport to the server; `options.call` are the options of each call.
import { setTimeout as sleep } from "node:timers/promises";

const PARALLEL = 10;
const LINES = 5;
const TRIES = 25;
const TRY_MS = 50;

async function withClient(client, open, use) {
  await client.connect(open());
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

const textOf = ({ content, isError }) => (isError ? { error: content[0].text } : content[0].text);

/** The names of the tools; with them come their hints, by which a transport knows what may be called twice. */
async function toolNames(client) {
  const { tools } = await client.listTools();
  return tools
    .map(({ name }) => name)
    .filter((name) => !name.startsWith("grown"))
    .sort();
}

/** Listing and calling; the simplest there is. */
function tools(sdk, open) {
  return withClient(sdk.newClient({}), open, async (client) => ({
    tools: await toolNames(client),
    result: textOf(await sdk.callTool(client, "add", { a: 2, b: 3 })),
    server: client.getServerVersion().name,
    version: client.transport.protocolVersion,
    session: typeof client.transport.sessionId,
  }));
}

/** A call that logs and reports progress meanwhile. */
async function narrated(sdk, client, name, key, call) {
  const seen = [];
  sdk.onNotification(client, "notifications/message", ({ params }) => void seen.push(params.data));
  const onprogress = ({ progress, total }) => void seen.push(`${progress}/${total}`);
  const args = { lines: LINES, key };
  const result = textOf(await sdk.callTool(client, name, args, { ...call, onprogress }));
  return { seen, result };
}

function streaming(sdk, open, { tool = "narrate", key, call }) {
  return withClient(sdk.newClient({}), open, async (client) => {
    await toolNames(client);
    return narrated(sdk, client, tool, key, call);
  });
}

/** The server ends the stream at each checkpoint, and the client comes back for the rest. */
function polling(sdk, open, { key, call }) {
  return withClient(sdk.newClient({}), open, async (client) => {
    const seen = [];
    sdk.onNotification(client, "notifications/message", ({ params }) => void seen.push(params.data));
    const args = { items: 6, checkpoint_every: 2, interval_ms: 15, key };
    return { seen, result: textOf(await sdk.callTool(client, "process_batch", args, call)) };
  });
}

const asked =
  (capabilities, method, answer, tool, args) =>
  (sdk, open, { key, call }) => {
    const questions = [];
    const client = sdk.newClient({ capabilities });
    sdk.onRequest(client, method, ({ params }) => {
      questions.push(params?.message ?? params?.messages?.[0].content ?? "");
      return answer;
    });
    return withClient(client, open, async () => ({
      result: textOf(await sdk.callTool(client, tool, { ...args, key }, call)),
      questions,
    }));
  };

const elicitation = asked(
  { elicitation: {} },
  "elicitation/create",
  { action: "accept", content: { colour: "green" } },
  "choose",
  { question: "Which colour?" },
);

const sampling = asked(
  { sampling: {} },
  "sampling/createMessage",
  { model: "none", role: "assistant", content: { type: "text", text: "in short" } },
  "summarize",
  { text: "a long story" },
);

const roots = asked(
  { roots: {} },
  "roots/list",
  { roots: [{ uri: "file:///here" }, { uri: "file:///there" }] },
  "show_roots",
  {},
);

/** Ten calls side by side: what each of them got, by its own progress. */
function parallel(sdk, open, { key, call }) {
  return withClient(sdk.newClient({}), open, async (client) => {
    await toolNames(client);
    const one = async (n) => {
      const seen = [];
      const onprogress = ({ progress }) => void seen.push(progress);
      const args = { lines: LINES, key: `${key} ${n}` };
      return { seen, result: textOf(await sdk.callTool(client, "narrate", args, { ...call, onprogress })) };
    };
    return Promise.all(Array.from({ length: PARALLEL }, (_, n) => one(n)));
  });
}

/** Hears of tools that appear outside of any call of its own, before and after `disturb()`. */
function listening(sdk, open, { key, disturb }) {
  let changes = 0;
  const changed = () => {
    changes += 1;
  };
  const client = sdk.newListeningClient(changed);
  return withClient(client, open, async () => {
    // Only a change shows that the client is listening.
    const hears = async (name) => {
      const before = changes;
      for (let tries = 1; changes === before && tries <= TRIES; tries += 1) {
        await sdk.callTool(client, "grow", { name: `grown_${key}_${name}_${tries}`.replaceAll(/\W/g, "_") });
        await sleep(TRY_MS);
      }
      return changes > before;
    };
    const before = await hears("before");
    await disturb?.();
    return { before, after: await hears("after") };
  });
}

export const PROGRAMS = { tools, streaming, polling, elicitation, sampling, roots, parallel, listening };
