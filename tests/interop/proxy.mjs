// A TCP proxy that forwards to one HTTP server and cuts the way back on a schedule.
//
// Schedules belong to calls, not to connections: a call is known by the `key` among its arguments, and its resumes by
// the event ids that went through. Each connection is followed byte by byte, so the log tells what was really open.

import { connect, createServer } from "node:net";
import { EventCounter } from "./event-counter.mjs";
import { fieldOf, HttpReader } from "./http-reader.mjs";

/** An event is cut only after this much of its data, so that "inside" is beyond doubt. */
const DATA_BEFORE_CUT = 12;

/**
 * `plan(key)` gives the faults of that call, in order: each strikes once the call has been sent `after` different
 * events with data.
 *   { after, how: "fin" | "rst", inside?, lingerMs? }   lingerMs: the server learns of it only then
 *   { after, how: "stall", ms }                         nothing is forwarded for so long
 * Returns { url, faults, exchanges, open, cut(matches), close() }: `faults` and `exchanges` are logs, `open` is the number
 * of connections; `cut` resets those whose answer is under way and matches, and returns how many there were.
 */
export async function createCuttingProxy({ upstream, plan = () => [] }) {
  const target = new URL(upstream);
  const proxy = { faults: [], exchanges: [], calls: new Calls(plan) };
  const open = new Set();
  const server = createServer({ noDelay: true }, (client) => {
    const connection = new ProxiedConnection(client, target, proxy);
    open.add(connection);
    client.on("close", () => open.delete(connection));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}${target.pathname}`,
    faults: proxy.faults,
    exchanges: proxy.exchanges,
    get open() {
      return open.size;
    },
    cut(matches) {
      const chosen = [...open].filter(({ underWay }) => underWay && matches(underWay));
      for (const connection of chosen) connection.reset();
      return chosen.length;
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const connection of open) connection.destroy();
      await closed;
    },
  };
}

/** Which event ids belong to which call, how many of its events went through, and the faults it has ahead. */
class Calls {
  #byKey = new Map();
  #byEventId = new Map();

  constructor(plan) {
    this.plan = plan;
  }

  of({ method, body, lastEventId }) {
    if (method === "GET") return this.#byEventId.get(lastEventId);
    if (body?.method !== "tools/call") return undefined;
    const key = body.params.arguments?.key ?? body.params.name;
    if (!this.#byKey.has(key)) this.#byKey.set(key, { key, events: 0, ahead: [...this.plan(key)] });
    return this.#byKey.get(key);
  }

  delivered(call, { id, data }) {
    if (id !== undefined && this.#byEventId.has(id)) return;
    if (id !== undefined) this.#byEventId.set(id, call);
    if (data > 0) call.events += 1;
  }
}

class ProxiedConnection {
  #requests = [];
  #exchange;
  #bodyBytes = 0;
  #events;
  #call;
  #struck = false;

  constructor(client, { hostname, port }, proxy) {
    this.client = client;
    this.proxy = proxy;
    this.upstream = connect({ host: hostname, port, noDelay: true });
    const requests = this.#requestReader();
    const responses = this.#responseReader();
    client.on("data", (chunk) => {
      for (const byte of chunk) requests.push(byte);
      this.upstream.write(chunk);
    });
    this.upstream.on("data", (chunk) => this.#forward(chunk, responses));
    client.on("end", () => this.#struck || this.upstream.end());
    this.upstream.on("end", () => this.#struck || client.end());
    client.on("close", () => this.#struck || this.upstream.destroy());
    this.upstream.on("close", () => this.#struck || client.destroy());
    for (const socket of [client, this.upstream]) socket.on("error", () => {});
  }

  destroy() {
    this.client.destroy();
    this.upstream.destroy();
  }

  reset() {
    this.client.resetAndDestroy();
    this.upstream.destroy();
  }

  /** The exchange whose head went back, and whose body has not ended. */
  get underWay() {
    return this.#exchange?.endedAt === undefined ? this.#exchange : undefined;
  }

  #requestReader() {
    let bytes = [];
    return new HttpReader({
      onHead: (lines) => {
        const [method] = lines[0].split(" ");
        this.#requests.push({ at: Date.now(), method, lastEventId: fieldOf(lines, "last-event-id") });
      },
      onBody: (byte) => bytes.push(byte),
      onEnd: () => {
        const request = this.#requests.at(-1);
        if (bytes.length > 0) request.body = JSON.parse(Buffer.from(bytes).toString("utf8"));
        bytes = [];
      },
      bodyless: () => false,
    });
  }

  #responseReader() {
    return new HttpReader({
      onHead: (lines) => this.#begin(lines),
      onBody: (byte) => {
        this.#bodyBytes += 1;
        this.#events?.push(byte);
      },
      onEnd: () => {
        this.#exchange.endedAt = Date.now();
        this.#events = undefined;
      },
      bodyless: (lines) => /^HTTP\/1\.1 (1\d\d|204|304)/.test(lines[0]),
    });
  }

  #begin(lines) {
    const { body, ...request } = this.#requests.shift();
    const call = this.proxy.calls.of({ ...request, body });
    const status = Number(lines[0].split(" ")[1]);
    this.#exchange = { ...request, rpc: body?.method, key: call?.key, status, params: body?.params };
    this.proxy.exchanges.push(this.#exchange);
    this.#call = call;
    this.#bodyBytes = 0;
    if (call && /^text\/event-stream/.test(fieldOf(lines, "content-type") ?? "")) {
      this.#events = new EventCounter((event) => this.proxy.calls.delivered(call, event));
    }
  }

  #forward(chunk, reader) {
    if (this.#struck) return;
    for (let at = 0; at < chunk.length; at += 1) {
      reader.push(chunk[at]);
      if (!this.#due()) continue;
      const fault = this.#call.ahead.shift();
      if (fault.how === "stall") {
        this.#stall(fault, chunk.subarray(0, at + 1), chunk.subarray(at + 1), reader);
      } else {
        this.#struck = true;
        this.client.write(chunk.subarray(0, at + 1), () => this.#cut(fault));
      }
      return;
    }
    this.client.write(chunk);
  }

  #due() {
    const fault = this.#events && this.#call.ahead[0];
    if (!fault || this.#call.events < fault.after) return false;
    return fault.inside ? this.#events.dataSoFar >= DATA_BEFORE_CUT : this.#events.between;
  }

  #cut(fault) {
    this.#log(fault);
    if (fault.how === "rst") this.client.resetAndDestroy();
    else this.client.end();
    setTimeout(() => this.upstream.destroy(), fault.lingerMs ?? 0);
  }

  #stall(fault, sent, held, reader) {
    this.client.write(sent, () => this.#log(fault));
    this.upstream.pause();
    setTimeout(() => {
      if (this.client.destroyed) return;
      this.#forward(held, reader);
      this.upstream.resume();
    }, fault.ms);
  }

  /** What was so at the cut, from the bytes that were written: not what the schedule meant. */
  #log({ how }) {
    this.proxy.faults.push({
      at: Date.now(),
      key: this.#call.key,
      how,
      method: this.#exchange.method,
      headersSent: this.#bodyBytes > 0,
      bodyOpen: this.#exchange.endedAt === undefined,
      insideEvent: this.#events?.inside ?? false,
      events: this.#call.events,
    });
  }
}
