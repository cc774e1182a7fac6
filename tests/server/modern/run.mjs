// One run of a tool: it ends with its connection, unless it becomes a task or its script says that it goes on.

import { createHmac, randomBytes } from "node:crypto";
import { runSteps, STEPS, unknownStep } from "../faults.mjs";
import { Stream } from "../streams.mjs";
import { NEEDS_TASKS } from "./tasks.mjs";
import {
  CAPABILITIES,
  INVALID_PARAMS,
  LOG_LEVEL,
  missingOf,
  Refused,
  requireCapabilities,
  SERVER_INFO,
} from "./words.mjs";

const INFO = { name: "landfall-modern-server", version: "1.0.0" };
const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
/** Which capability a question needs. */
const ASKED = {
  "elicitation/create": "elicitation",
  "sampling/createMessage": "sampling",
  "roots/list": "roots",
};

/** Of the fault server's steps, those that mean something without sessions and ids. */
const SHARED = "progress cut close retry message notify comment raw wait stall garbage array nullId answerId";
const OWN = {
  /** The answer is a demand for input, unless this request brings it. */
  needInput: (run, { needInput }) => run.need(needInput),
  require: (run, { require }) => requireCapabilities(require, run.capabilities),
  task: (run, { task }) => run.becomeTask(task),
  status: (run, { status }) => run.task.tell(typeof status === "string" ? { statusMessage: status } : status),
  input: (run, { input }) => run.task.ask(input, run.signal),
  lose: (run) => run.server.tasks.lose(run.task),
  cancelTask: (run) => run.task.cancelled(),
  addTool: (run, { addTool }) => run.server.addTool(addTool),
  renameHeader: (run, { renameHeader }) => run.server.toolbox.rename(renameHeader),
  updateResource: (run, { updateResource }) => run.server.subscriptions.updated(updateResource),
  listeners: (run, { listeners }) => run.server.subscriptions.all(listeners),
};
const LAST = "keepOpen ignoreCancel result error noAnswer";
const pick = (names) => Object.fromEntries(names.split(" ").map((name) => [name, STEPS[name]]));
const TABLE = { ...OWN, ...pick(SHARED), ...pick(LAST) };

export const complete = (result) => ({
  resultType: "complete",
  ...result,
  _meta: { [SERVER_INFO]: INFO, ...result._meta },
});

/** Signs what clients carry, so that one that was changed is seen. */
const SECRET = randomBytes(16);
const signed = (text) => `${text}.${createHmac("sha256", SECRET).update(text).digest("base64url")}`;

export class ModernRun {
  #stop = new AbortController();
  #answered = false;
  #carried;
  #needs = 0;

  stream = new Stream("modern");
  signal = this.#stop.signal;
  answerAsArray = false;
  keepOpen = false;
  ignoreCancel = false;
  task;

  /** `json`: the answer is a body of JSON, and nothing else is sent. */
  constructor({ server, exchange, request, key, json }) {
    Object.assign(this, { server, exchange, request, key, json });
    this.answerId = request.id;
    this.meta = request.params._meta;
    this.capabilities = this.meta[CAPABILITIES];
    this.steps = request.params.arguments?.steps ?? [];
    this.stream.ids = false;
    const bad = unknownStep(this.steps, TABLE);
    if (bad) throw new Refused(INVALID_PARAMS, `Unknown step: ${JSON.stringify(bad)}`, { status: 200 });
    this.#carried = carriedBy(request.params);
    if (!this.isFirstRound) exchange.entry.continues = true;
  }

  /** A run that begins at its beginning is an execution; what continues one is none. */
  get isFirstRound() {
    return this.#carried.round === 0 && this.request.params.inputResponses === undefined;
  }

  /** The steps that come after what was answered already. */
  get #ahead() {
    const { round } = this.#carried;
    const { inputResponses = {} } = this.request.params;
    let ahead = 0;
    let nth = 0;
    for (const [i, { needInput }] of this.steps.entries()) {
      if (!needInput) continue;
      const keys = Object.keys(needInput.inputRequests ?? {});
      const isAnswered = keys.length > 0 && keys.every((key) => Object.hasOwn(inputResponses, key));
      if (nth >= round && !(nth === round && isAnswered)) break;
      nth += 1;
      ahead = i + 1;
    }
    this.#needs = nth;
    return this.steps.slice(ahead);
  }

  async execute(execution) {
    const { res } = this.exchange;
    res.on("close", () => this.#disconnected());
    try {
      const steps = this.#ahead;
      if (this.#opensStream(steps))
        this.stream.attach(this.exchange.openEvents({ "x-accel-buffering": "no" }));
      await runSteps(this, steps, TABLE);
      if (!this.#answered && !this.signal.aborted) await this.answer({ result: this.#result(execution) });
    } catch (error) {
      if (this.signal.aborted) return;
      if (!(error instanceof Refused)) console.error(error);
      await this.#fail(error);
    }
  }

  /** A request that is refused by its first step has a status of its own, as at servers that look before they begin. */
  #opensStream([first]) {
    if (this.json) return false;
    return !missingOf(neededBy(first), this.capabilities);
  }

  #result(execution) {
    const text = `${this.key} done`;
    const answers = {
      ...this.#carried.answers,
      ...this.request.params.inputResponses,
      ...this.task?.answers,
    };
    return { content: [{ type: "text", text }], structuredContent: { key: this.key, execution, answers } };
  }

  #fail({ code = -32603, message, status = 200, data }) {
    this.#answered = true;
    const error = { code, message, data };
    if (this.task) return this.task.settle({ error });
    if (this.stream.attached) return this.#respond({ error });
    this.exchange.json(status, { jsonrpc: "2.0", id: this.answerId, error });
  }

  send(message) {
    return this.task || this.json ? undefined : this.stream.send(JSON.stringify(message));
  }

  /** Sent only to a request that asked for messages of its level. */
  async message(data, level) {
    const wanted = LEVELS.indexOf(this.meta[LOG_LEVEL]);
    if (wanted === -1 || LEVELS.indexOf(level) < wanted) return;
    const params = { level, logger: this.request.params.name, data };
    await this.send({ jsonrpc: "2.0", method: "notifications/message", params });
  }

  async progress(values) {
    const { progressToken } = this.meta;
    if (progressToken === undefined) return;
    await this.send({
      jsonrpc: "2.0",
      method: "notifications/progress",
      params: { progressToken, ...values },
    });
  }

  /** `{ inputRequests?, state? }`: `state: false` has the client carry nothing. */
  async need({ inputRequests, state = true }) {
    requireCapabilities(capabilitiesOf(inputRequests), this.capabilities);
    const answers = { ...this.#carried.answers, ...this.request.params.inputResponses };
    const carried = JSON.stringify({ round: this.#needs + (inputRequests ? 0 : 1), answers, key: this.key });
    const requestState = state ? signed(Buffer.from(carried).toString("base64url")) : undefined;
    await this.answer({ result: { resultType: "input_required", inputRequests, requestState } });
    this.stop();
  }

  async becomeTask(options) {
    const isDeclared = !missingOf(NEEDS_TASKS, this.capabilities);
    if (!isDeclared && options.optional) return;
    requireCapabilities(NEEDS_TASKS, this.capabilities);
    const task = this.server.tasks.create(options, () => this.#cancelTask());
    this.exchange.entry.taskId = task.taskId;
    await this.answer({ result: { resultType: "task", ...task.seed } });
    this.#answered = false;
    this.task = task;
  }

  #cancelTask() {
    if (this.task.isTerminal) return;
    this.server.cancelled(this.key);
    if (this.ignoreCancel) return;
    this.task.cancelled();
    this.stop();
  }

  async answer(body) {
    this.#answered = true;
    const whole = body.result ? { ...body, result: complete(body.result) } : body;
    if (this.task) {
      this.task.settle(body);
      if (this.task.status === "completed") this.server.completed(this.key);
      return;
    }
    if (body.result && (body.result.resultType ?? "complete") === "complete") this.server.completed(this.key);
    await this.#respond(whole);
  }

  async #respond(body) {
    const message = { jsonrpc: "2.0", id: this.answerId, ...body };
    if (this.json) return this.exchange.json(200, message);
    await this.stream.send(JSON.stringify(this.answerAsArray ? [message] : message));
    if (!this.keepOpen) this.stream.finish();
  }

  /** Whoever closed it: to a server of this era that is the cancel. */
  #disconnected() {
    if (this.#answered || this.task || this.signal.aborted) return;
    this.server.cancelled(this.key);
    if (!this.ignoreCancel) this.stop();
  }

  stop() {
    this.#stop.abort();
  }
}

const capabilitiesOf = (inputRequests = {}) =>
  Object.fromEntries(Object.values(inputRequests).map(({ method }) => [ASKED[method], {}]));

function neededBy({ require, task, needInput } = {}) {
  if (task && !task.optional) return NEEDS_TASKS;
  return require ?? capabilitiesOf(needInput?.inputRequests);
}

/** What an earlier round gave the client to carry: it comes back as it was, and with nothing else. */
function carriedBy({ requestState, inputResponses, arguments: args }) {
  const withoutState = args?.steps?.some(({ needInput }) => needInput?.state === false);
  if (requestState === undefined) {
    if (inputResponses === undefined || withoutState) return { round: 0, answers: {} };
    throw new Refused(INVALID_PARAMS, "requestState is missing", { status: 200 });
  }
  const text = String(requestState);
  const [payload] = text.split(".");
  if (signed(payload) !== text)
    throw new Refused(INVALID_PARAMS, "requestState was changed", { status: 200 });
  const carried = JSON.parse(Buffer.from(payload, "base64url").toString("utf8"));
  if (carried.key !== args?.key)
    throw new Refused(INVALID_PARAMS, "requestState of another call", { status: 200 });
  return carried;
}
