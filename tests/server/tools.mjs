// The tools, and one run of one of them. A run outlives its connections: a cut stops no tool.

import { runSteps, unknownStep } from "./faults.mjs";

/** What a client puts into `_meta` so that a repeat of the call can be told from another call. */
const CALL_KEY = "landfall/call-key";

export const callKeyOf = (request) => request.params?._meta?.[CALL_KEY];

const SCRIPT = {
  type: "object",
  properties: { key: { type: "string" }, steps: { type: "array" }, post: { type: "object" } },
};

export const TOOLS = [
  {
    name: "process_batch",
    description: "Sends one message per item and closes its stream at checkpoints.",
    inputSchema: {
      type: "object",
      properties: {
        items: { type: "integer", default: 10 },
        checkpoint_every: { type: "integer", default: 3 },
        interval_ms: { type: "integer", default: 50 },
        retry_ms: { type: "integer", default: 100 },
        key: { type: "string" },
      },
    },
  },
  { name: "scripted", description: "Does what its steps say.", inputSchema: SCRIPT },
  {
    name: "scripted_read",
    description: "The same, and says that it only reads.",
    inputSchema: SCRIPT,
    annotations: { readOnlyHint: true },
  },
  {
    name: "scripted_idempotent",
    description: "The same, and says that it may be repeated.",
    inputSchema: SCRIPT,
    annotations: { idempotentHint: true },
  },
];

export class Run {
  #stop = new AbortController();
  #onanswer;
  #answer;
  #progressToken;
  #questions = 0;

  signal = this.#stop.signal;
  /** Resolves with the answer, once there is one. */
  answered = new Promise((resolve) => {
    this.#onanswer = resolve;
  });
  answers = [];
  answerAsArray = false;
  keepOpen = false;
  ignoreCancel = false;
  cancelled;

  constructor({ session, stream, request, key }) {
    this.session = session;
    this.stream = stream;
    this.request = request;
    this.key = key;
    this.tool = request.params.name;
    this.callKey = callKeyOf(request);
    this.answerId = request.id;
    this.#progressToken = request.params._meta?.progressToken;
  }

  /** Runs the tool's body once. A run that was stopped has no answer. */
  async execute(execution) {
    try {
      await runSteps(this, this.#script());
      if (!this.isAnswered && !this.signal.aborted) {
        const text = `${this.key} done`;
        const structuredContent = { key: this.key, execution, answers: this.answers };
        await this.answer({ result: { content: [{ type: "text", text }], structuredContent } });
      }
    } catch (error) {
      if (this.signal.aborted) return;
      console.error(error);
      await this.answer({ error: { code: -32603, message: String(error) } });
    }
  }

  get isAnswered() {
    return this.#answer !== undefined;
  }

  /** Why this call can't run at all. */
  complaint() {
    if (!TOOLS.some(({ name }) => name === this.tool)) return `Unknown tool: ${this.tool}`;
    const bad = unknownStep(this.#script());
    return bad && `Unknown step: ${JSON.stringify(bad)}`;
  }

  #script() {
    const args = this.request.params.arguments ?? {};
    return this.tool === "process_batch" ? batch(args) : (args.steps ?? []);
  }

  send(message) {
    return this.stream.send(JSON.stringify(message));
  }

  message(data, level) {
    return this.send({
      jsonrpc: "2.0",
      method: "notifications/message",
      params: { level, logger: this.tool, data },
    });
  }

  /** Sent only to a client that asked for progress. */
  async progress(values) {
    if (this.#progressToken === undefined) return;
    const params = { progressToken: this.#progressToken, ...values };
    await this.send({ jsonrpc: "2.0", method: "notifications/progress", params });
  }

  async ask({ method, params }) {
    this.#questions += 1;
    const id = `${this.stream.name}-ask-${this.#questions}`;
    const answer = this.session.expectAnswer(id, this.signal);
    await this.send({ jsonrpc: "2.0", id, method, params });
    const { result, error } = await answer;
    return result ?? { error };
  }

  async answer(body) {
    const message = { jsonrpc: "2.0", id: this.answerId, ...body };
    this.#answer = message;
    this.#onanswer(message);
    await this.send(this.answerAsArray ? [message] : message);
    if (!this.keepOpen) this.stream.finish();
  }

  cancel(reason) {
    this.cancelled = { reason };
    if (this.ignoreCancel) return;
    this.stop();
    this.stream.finish();
  }

  stop() {
    this.#stop.abort();
  }
}

function* stepsOfBatch({ items = 10, checkpoint_every = 3, interval_ms = 50, retry_ms = 100 }) {
  yield { prime: true, retry: retry_ms, everyTime: true };
  for (let item = 1; item <= items; item += 1) {
    yield { wait: interval_ms };
    yield { message: `[${item}/${items}] item ${item}` };
    yield { progress: item, total: items };
    if (item % checkpoint_every === 0 && item < items) {
      yield { message: `checkpoint at item ${item}` };
      yield { close: true };
    }
  }
  yield { result: { content: [{ type: "text", text: `${items} items processed` }] } };
}

const batch = (args) => [...stepsOfBatch(args)];
