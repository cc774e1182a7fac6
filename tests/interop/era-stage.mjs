// A server of some era behind a proxy that cuts, and the sessions that are opened with it.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { connect, ToolCallFailedError } from "../../target/npm/entry/index.js";
import { start } from "../servers/start.mjs";
import { createCuttingProxy } from "./proxy.mjs";

const QUICK = { baseMs: 50, maxMs: 200 };
const PATIENCE_MS = 20_000;

export class EraStage {
  #plans = new Map();
  #open = [];

  constructor(kind) {
    this.kind = kind;
  }

  async begin() {
    this.server = await start(this.kind);
    const plan = (key) => this.#plans.get(key) ?? [];
    this.proxy = await createCuttingProxy({ upstream: this.server.url, plan });
  }

  async end() {
    await this.proxy?.close();
    await this.server?.stop();
  }

  /** Behind each test. */
  async tidy() {
    await Promise.all(this.#open.splice(0).map((session) => session.close()));
    this.proxy.exchanges.length = 0;
  }

  async session(options) {
    const opened = await connect(this.proxy.url, { retry: QUICK, logger: false, ...options });
    this.#open.push(opened);
    return opened;
  }

  plan(key, faults) {
    this.#plans.set(key, faults);
  }

  /** What went over the wire since the last test: `METHOD STATUS`. Servers of HTTP+SSE refuse a POST each in its own way. */
  get exchanges() {
    return this.proxy.exchanges.map(({ method, rpc, status }) => {
      const refused = this.kind.era === "sse" && method === "POST" && status >= 400;
      return `${rpc ?? method} ${refused ? "4xx" : status}`;
    });
  }
}

export async function until(holds) {
  for (const end = Date.now() + PATIENCE_MS; !(await holds()); await sleep(20)) {
    assert.ok(Date.now() < end, `not within ${PATIENCE_MS} ms: ${holds}`);
  }
}

/** How a call ended: `answer TEXT`, or `REASON OUTCOME`. */
export async function endOf(call) {
  try {
    const { content } = await call;
    return `answer ${content[0].text}`;
  } catch (error) {
    if (!(error instanceof ToolCallFailedError)) throw error;
    return `${error.reason} ${error.outcome}`;
  }
}

/** The events of a call, as they come; `done` is there after the last. */
export function gather(call) {
  const events = [];
  const done = (async () => {
    for await (const event of call) events.push(event);
  })();
  return { events, done };
}

export const progressOf = (events) =>
  events.flatMap(({ type, progress }) => (type === "progress" ? [progress] : []));
