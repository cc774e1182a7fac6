// `subscriptions/listen`: streams that stay open and tell what changed.

import { NEEDS_TASKS } from "./tasks.mjs";
import { requireCapabilities, SUBSCRIPTION } from "./words.mjs";

/** By its member of the filter, the notification. */
const CHANGES = {
  toolsListChanged: "notifications/tools/list_changed",
  promptsListChanged: "notifications/prompts/list_changed",
  resourcesListChanged: "notifications/resources/list_changed",
};
/** What this server has. */
const GRANTED = ["toolsListChanged", "resourcesListChanged"];

export class Subscriptions {
  #open = new Set();

  constructor(tasks) {
    this.tasks = tasks;
  }

  get count() {
    return this.#open.size;
  }

  /** `withhold`: it opens the stream, and acknowledges nothing. */
  open(exchange, { id, params }, capabilities, { withhold = false } = {}) {
    const wanted = params.notifications ?? {};
    if (wanted.taskIds) requireCapabilities(NEEDS_TASKS, capabilities);
    const subscription = new Subscription(exchange, id, this.#grant(wanted));
    this.#open.add(subscription);
    exchange.res.on("close", () => this.#open.delete(subscription));
    if (!withhold) subscription.acknowledge();
  }

  #grant(wanted) {
    const granted = {};
    for (const name of GRANTED) if (wanted[name]) granted[name] = true;
    if (wanted.resourceSubscriptions) granted.resourceSubscriptions = wanted.resourceSubscriptions;
    const taskIds = wanted.taskIds?.filter((taskId) => this.tasks.find(taskId)?.notifies);
    if (taskIds) granted.taskIds = taskIds;
    return granted;
  }

  changed(name) {
    for (const one of this.#open) if (one.granted[name]) one.send(CHANGES[name], {});
  }

  updated(uri) {
    for (const one of this.#open) {
      if (one.granted.resourceSubscriptions?.includes(uri))
        one.send("notifications/resources/updated", { uri });
    }
  }

  task(task) {
    for (const one of this.#open) {
      if (one.granted.taskIds?.includes(task.taskId)) one.send("notifications/tasks", task.detailed);
    }
  }

  /**
   * What becomes of all that are open: `"end"` (the response, and the end of the body), `"cancelled"` (a notification
   * that says so, and the end), `"close"` (the end alone), `"fin"` and `"rst"` (the socket is dropped), `"comment"`.
   */
  all(what) {
    for (const one of [...this.#open]) one.end(what);
  }
}

class Subscription {
  constructor(exchange, id, granted) {
    this.id = id;
    this.granted = granted;
    this.connection = exchange.openEvents({ "x-accel-buffering": "no" });
  }

  acknowledge() {
    return this.send("notifications/subscriptions/acknowledged", { notifications: this.granted });
  }

  send(method, params) {
    return this.#write({ method, params: { ...params, _meta: { [SUBSCRIPTION]: this.id } } });
  }

  #write(message) {
    return this.connection.write(`data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
  }

  async end(what) {
    if (what === "comment") return this.connection.write(": still here\n\n");
    if (what === "fin" || what === "rst") return this.connection.cut(what);
    if (what === "end") {
      const _meta = { [SUBSCRIPTION]: this.id };
      await this.#write({ id: this.id, result: { resultType: "complete", _meta } });
    }
    if (what === "cancelled") await this.send("notifications/cancelled", { requestId: this.id });
    this.connection.end();
  }
}
