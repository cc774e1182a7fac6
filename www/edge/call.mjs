// One tool call in a Durable Object.
import { DurableObject } from "cloudflare:workers";
import { connect } from "landfall";
import { Journal } from "./journal.mjs";

const HEARTBEAT_MS = 15_000;
// While a call is under way the object is woken so often, should it have been put to sleep.
const WAKE_MS = 30_000;
// A row of the object's storage has at most 2 MB.
const MOST_EVENT_BYTES = 1 << 20;

/**
 * One tool call. It outlives the connections of those who follow it, and by its journal even the memory of the object:
 * then its session goes on by its state, and its stream by its cursor.
 */
export class Call extends DurableObject {
  #journal;
  #running;
  /** The call of landfall's, once it is made; nothing where it can't be. */
  #made = Promise.withResolvers();
  #changed = Promise.withResolvers();

  constructor(ctx, env) {
    super(ctx, env);
    this.#journal = new Journal(ctx.storage);
  }

  async fetch(request) {
    if (request.method === "POST") this.#journal.begin(await request.json());
    if (this.#journal.get("call") === undefined)
      return Response.json({ error: "there is no such call" }, { status: 404 });
    await this.#carry();
    if (request.method === "DELETE") {
      this.ctx.waitUntil(this.#made.promise.then((made) => made?.call.cancel()));
      return new Response(null, { status: 202 });
    }
    return this.#follow(Number(request.headers.get("last-event-id")) || 0);
  }

  async alarm() {
    if (this.#journal.get("isOver")) await this.#journal.forget();
    else await this.#carry();
  }

  /** The call is under way from here on, if it is not over. */
  async #carry() {
    if (this.#journal.get("isOver")) return;
    await this.ctx.storage.setAlarm(Date.now() + WAKE_MS);
    this.#running ??= this.#run();
  }

  async #run() {
    const { name, arguments: args } = this.#journal.get("call");
    const [state, resumptionToken] = [this.#journal.get("state"), this.#journal.get("cursor")];
    if (state !== undefined && resumptionToken === undefined) return this.#interrupted(name);
    let session;
    try {
      session = await connect(this.env.MCP_URL, this.#options(state));
      this.#journal.set("state", session.exportState());
      const call = session.callTool(name, args, {
        ...(resumptionToken === undefined ? {} : { resumptionToken }),
        onresumptiontoken: (cursor) => this.#journal.set("cursor", cursor),
      });
      this.#made.resolve({ call }); // As it is: a call by itself is a promise of its result.
      for await (const event of call) this.#tell(event);
    } catch (error) {
      this.#fail(name, error);
    }
    await this.#end();
    await session?.close();
  }

  #options(state) {
    const token = this.env.MCP_TOKEN;
    return {
      ...{ era: "resumable", terminateSessionOnClose: true },
      timeouts: { deadlineMs: Number(this.env.DEADLINE_MS) },
      limits: { maxEventBytes: MOST_EVENT_BYTES, maxBodyBytes: MOST_EVENT_BYTES },
      ...(token ? { authProvider: { token: () => token } } : {}),
      ...(state === undefined ? {} : { state }),
    };
  }

  #tell(event) {
    this.#journal.append(event);
    this.#wake();
  }

  /** There was no session, or no call could be made of what it was given. */
  #fail(tool, error) {
    const failed = { method: "tools/call", reason: "internal_error", outcome: "not_sent", retrySafe: true };
    const own = { type: "tool_call_failed", at: Date.now(), tool, ...failed, message: String(error) };
    this.#tell(error?.event ?? own);
  }

  /** The object lost its memory before there was a cursor: whether the tool has run, nobody knows. */
  async #interrupted(tool) {
    const failed = { method: "tools/call", reason: "interrupted", outcome: "unknown", retrySafe: false };
    const message = "the Worker was restarted before the call could be resumed";
    this.#tell({ type: "tool_call_failed", at: Date.now(), tool, ...failed, message });
    await this.#end();
  }

  async #end() {
    this.#made.resolve();
    this.#journal.set("isOver", true);
    this.#wake();
    await this.ctx.storage.setAlarm(Date.now() + Number(this.env.KEEP_MS));
  }

  #wake() {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  /** What happened after an event and what is yet to happen, as an event stream. */
  #follow(after) {
    // An EventSource that hears this does not come back.
    if (this.#journal.get("isOver") && this.#journal.after(after).length === 0)
      return new Response(null, { status: 204 });
    const encoder = new TextEncoder();
    let at = after;
    const pull = async (controller) => {
      const rows = await this.#next(at);
      if (rows === undefined) return controller.close();
      at = rows.at(-1)?.id ?? at;
      const blocks = rows.map(({ id, data }) => `${id === undefined ? "" : `id: ${id}\n`}data: ${data}\n\n`);
      controller.enqueue(encoder.encode(blocks.join("") || ": still under way\n\n"));
    };
    const start = (controller) => controller.enqueue(encoder.encode("retry: 1000\n\n"));
    // Pulled, so that who reads slowly holds nothing in memory.
    const body = new ReadableStream({ start, pull }, { highWaterMark: 0 });
    return new Response(body, {
      headers: { "content-type": "text/event-stream", "cache-control": "no-store" },
    });
  }

  /** The next events; none when it is time for a heartbeat, `undefined` when there will be none. */
  async #next(after) {
    let isTime = false;
    let timer;
    const beat = new Promise((resolve) => {
      timer = setTimeout(resolve, HEARTBEAT_MS);
    }).then(() => {
      isTime = true;
    });
    try {
      for (;;) {
        const rows = this.#journal.after(after);
        if (rows.length > 0 || isTime) return rows;
        if (this.#journal.get("isOver")) return undefined;
        await Promise.race([this.#changed.promise, beat]);
      }
    } finally {
      clearTimeout(timer);
    }
  }
}
