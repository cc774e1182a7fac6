// The tasks extension, as SEP-2663 has it: work that goes on without a connection, and is asked for by its id.

import { randomUUID } from "node:crypto";
import { INVALID_PARAMS, Refused, requireCapabilities, TASKS } from "./words.mjs";

export const NEEDS_TASKS = { extensions: { [TASKS]: {} } };

const TERMINAL = ["completed", "failed", "cancelled"];

export class Task {
  taskId = randomUUID();
  createdAt = new Date().toISOString();
  #status = "working";
  #statusMessage;
  #ttlMs;
  #pollIntervalMs;
  #lastUpdatedAt = this.createdAt;
  /** What belongs to the status: `result`, `error` or `inputRequests`. */
  #payload = {};
  #onAnswers;
  /** What `tasks/update` brought, by key, in the order in which it came. */
  answers = {};
  polls = 0;

  /** `notify: false`: no notifications are granted for it. `ownCancel` is what `tasks/cancel` does to the work. */
  constructor({ ttlMs = null, pollIntervalMs, statusMessage, notify = true }, { onchange, ownCancel }) {
    this.#ttlMs = ttlMs;
    this.#pollIntervalMs = pollIntervalMs;
    this.#statusMessage = statusMessage;
    this.notifies = notify;
    this.onchange = onchange;
    this.ownCancel = ownCancel;
  }

  get isTerminal() {
    return TERMINAL.includes(this.#status);
  }

  get status() {
    return this.#status;
  }

  /** As `tools/call` gives it. */
  get seed() {
    return {
      taskId: this.taskId,
      status: this.#status,
      statusMessage: this.#statusMessage,
      createdAt: this.createdAt,
      lastUpdatedAt: this.#lastUpdatedAt,
      ttlMs: this.#ttlMs,
      pollIntervalMs: this.#pollIntervalMs,
    };
  }

  /** As `tasks/get` and `notifications/tasks` give it. */
  get detailed() {
    return { ...this.seed, ...this.#payload };
  }

  get expiresAt() {
    return this.#ttlMs === null ? Number.POSITIVE_INFINITY : Date.parse(this.createdAt) + this.#ttlMs;
  }

  /** `{ statusMessage?, pollIntervalMs?, ttlMs? }`: what of it is another from now on. */
  tell({ statusMessage = this.#statusMessage, pollIntervalMs = this.#pollIntervalMs, ttlMs = this.#ttlMs }) {
    this.#statusMessage = statusMessage;
    this.#pollIntervalMs = pollIntervalMs;
    this.#ttlMs = ttlMs;
    this.#changed();
  }

  /** Asks, and resolves when all of it was answered. */
  ask(inputRequests, signal) {
    this.#become("input_required", { inputRequests });
    return new Promise((resolve, reject) => {
      this.#onAnswers = resolve;
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
  }

  /** What nobody asked, or what was answered, is ignored. */
  update(inputResponses) {
    const open = { ...this.#payload.inputRequests };
    for (const [key, response] of Object.entries(inputResponses ?? {})) {
      if (!open[key]) continue;
      this.answers[key] = response;
      delete open[key];
    }
    if (this.#status !== "input_required") return;
    if (Object.keys(open).length > 0) return this.#become("input_required", { inputRequests: open });
    this.#become("working");
    this.#onAnswers();
  }

  settle({ result, error }) {
    if (error) this.#become("failed", { error });
    else this.#become("completed", { result });
  }

  cancelled() {
    this.#become("cancelled");
  }

  #become(status, payload = {}) {
    if (this.isTerminal) return;
    this.#status = status;
    this.#payload = payload;
    this.#changed();
  }

  #changed() {
    this.#lastUpdatedAt = new Date().toISOString();
    this.onchange(this);
  }
}

export class Tasks {
  #tasks = new Map();

  constructor(onchange) {
    this.onchange = onchange;
  }

  create(options, ownCancel) {
    const task = new Task(options, { onchange: this.onchange, ownCancel });
    this.#tasks.set(task.taskId, task);
    return task;
  }

  find(taskId) {
    const task = this.#tasks.get(taskId);
    return task && Date.now() < task.expiresAt ? task : undefined;
  }

  /** The server knows nothing of it any more. */
  lose({ taskId }) {
    this.#tasks.delete(taskId);
  }

  clear() {
    this.#tasks.clear();
  }

  /** The result of one of the methods of the extension. */
  answer(method, { taskId, inputResponses }, capabilities) {
    requireCapabilities(NEEDS_TASKS, capabilities);
    const task = this.find(taskId);
    if (!task) throw new Refused(INVALID_PARAMS, "Task not found", { status: 200 });
    switch (method) {
      case "tasks/get":
        task.polls += 1;
        return task.detailed;
      case "tasks/update":
        task.update(inputResponses);
        return {};
      default:
        task.ownCancel();
        return {};
    }
  }
}
