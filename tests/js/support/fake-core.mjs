// A core whose every word is scripted by the test, in place of the module: what a real one can't be made to say.

import { Instances } from "../../../target/modules/core/instance.js";
import { parseMessages } from "../../../target/modules/core/parse.js";
import { noSdk } from "../../../target/modules/sdk/binding.js";
import { ClientTransport } from "../../../target/modules/sdk/transport.js";
import { connector } from "../../../target/modules/session/stand-alone.js";

/** The smallest module: it is only handed to the factory. */
export const emptyModule = new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0));

/** Lets everything that waits in microtasks run, and the timers that are due. */
export const turn = () => new Promise((resolve) => setTimeout(resolve, 0));

const silent = [
  ...["cancel", "sent", "push", "end", "destroy", "gap", "metrics"],
  ...["authorized", "reconnect", "learn_secret"],
];

/** Outputs as the decoder gives them: with the message that each names by its place among `messages`. */
function decoded(outputs, messages) {
  return outputs.map((output) => {
    const { message: index } = output;
    const { out, call, at, type, key = 0, seam = false } = output;
    const message = typeof index === "number" ? messages[index] : index;
    if (out === "event" && (type === "message" || type === "progress"))
      return { out: "messages", call, at, type, among: messages, index, count: 1, firstKey: key, seam };
    return index === undefined ? output : { ...output, message };
  });
}

export class FakeCore {
  /** Every export that was called: `[name, ...arguments]`. */
  log = [];
  /** By name of an export: runs instead of the scripted answer; what it throws is a trap. */
  on = {};
  /** The clocks of the calls that are made. No deadline: a test that forgets a call leaves no timer behind. */
  terms = { connectMs: 5_000 };
  /** What the wrapper has of it. */
  exports;
  #batches = [];
  #reported = [];
  #requests = new Map();
  #calls = 0;

  constructor() {
    const answers = {
      create: (host, config) => {
        Object.assign(this, { host, config });
        return 7;
      },
      connect: (_handle, _now) => (this.config.carry ? { outputs: [] } : this.made(0)),
      call: () => this.#next(),
      notify: () => this.#next(),
      answer: () => ({ outputs: [] }),
      terminate: () => this.#next(),
      is_reserved: (name) => name === "content-type" || name.startsWith("mcp-"),
      next_request_id: () => `fake-${this.#calls + 1}`,
      close: () => ({ outputs: [{ out: "closed" }] }),
      poll: () => this.#batches.shift(),
      head: (_handle, _now, exchange, head) => this.#requests.get(exchange)?.resolve(head),
      fail: (_handle, _now, exchange, message, code) =>
        this.#requests.get(exchange)?.reject(Object.assign(new Error(message), { code })),
      handled: () => false,
      drain: () => undefined,
      set_version: (_handle, _now, protocolVersion) => ({ outputs: [{ out: "persist", protocolVersion }] }),
      retire: () => {},
    };
    for (const name of silent) answers[name] = () => undefined;
    const run = (name, args) => {
      this.log.push([name, ...args]);
      // `on.handled` gives what is to be drained.
      if (name === "handled" && this.on.handled !== undefined) {
        this.#reported.push(...(this.on.handled(...args)?.outputs ?? []));
        return this.#reported.length > 0;
      }
      if (name === "drain") return { outputs: this.#reported.splice(0) };
      // `on.connect` may only look on.
      if (name === "connect") return this.on.connect?.(...args) ?? answers.connect(...args);
      return (this.on[name] ?? answers[name])(...args);
    };
    this.exports = Object.fromEntries(
      Object.keys(answers).map((name) => [name, (...args) => run(name, args)]),
    );
    // The factory's own, and nothing that the core is told.
    this.exports.hold = (isHeld) => {
      this.isHeld = isHeld;
    };
  }

  /** What the wrapper hears next, as if the network or a timer had brought it. Messages may be text as well. */
  tell(outputs, messages = []) {
    const text = typeof messages === "string" ? messages : JSON.stringify(messages);
    this.#batches.push({ outputs: decoded(outputs, parseMessages(text)) });
    this.host.schedule();
  }

  /** Makes a request: resolves with the head that this core is told, or rejects with the failure. */
  open(exchange, more) {
    this.tell([transmit(exchange, more)]);
    return new Promise((resolve, reject) => {
      this.#requests.set(exchange, { resolve, reject });
    });
  }

  /** The handshake is answered. */
  ready(result = {}, more = {}) {
    const response = { jsonrpc: "2.0", id: "fake-0", result: { capabilities: {}, ...result } };
    const greeting = JSON.stringify(response);
    const facts = { era: "legacy", protocolVersion: "2025-11-25", greeting, ...more };
    this.tell(
      [
        { out: "persist", ...facts },
        { out: "ready", message: 0 },
      ],
      [response],
    );
  }

  /** A call is answered; `response` has `result` or `error`. */
  answer(call, response, more = {}) {
    this.tell([{ out: "settle", call, at: 9, type: "result", message: 0, ...more }], [response]);
  }

  /** A notification of the server's, for a call or the session. */
  message(call, method, params, type = "message", more = {}) {
    const whose = call === undefined ? {} : { call };
    this.tell(
      [{ out: "event", ...whose, at: 5, type, message: 0, ...more }],
      [{ jsonrpc: "2.0", method, params }],
    );
  }

  /** Messages of a call in one batch, with these keys, then more outputs. */
  messages(call, keys, more = []) {
    const outputs = keys.map((key, message) => ({
      out: "event",
      call,
      at: 5,
      type: "message",
      message,
      key,
    }));
    const messages = keys.map((data) => ({
      jsonrpc: "2.0",
      method: "notifications/message",
      params: { data },
    }));
    this.tell([...outputs, ...more], messages);
  }

  /** What it was told of its events: `[key, ok]`. */
  get handled() {
    const reports = [];
    for (const [, , , first, last, ok] of this.called("handled"))
      for (let key = first; key <= last; key += 1) reports.push([key, ok]);
    return reports;
  }

  /** A call failed. */
  fail(call, why = {}) {
    this.tell([failure(call, why)]);
  }

  /** The arguments of each call of one export. */
  called(name) {
    return this.log.filter(([each]) => each === name).map(([, ...rest]) => rest);
  }

  #next() {
    this.#calls += 1;
    return this.made(this.#calls);
  }

  /** What an export answers that makes this call. `on.drain` gives what is told along with it. */
  made(call) {
    const { outputs } = this.on.drain?.() ?? { outputs: [] };
    return { call, requestId: `fake-${call}`, ...this.terms, outputs };
  }
}

/** A request to make. */
export function transmit(exchange, more = {}) {
  const request = { method: "POST", manner: "guarded", headers: {}, call: undefined, url: undefined };
  return { out: "transmit", exchange, ...request, body: undefined, ...more };
}

/** A settle output of a call that failed. */
export function failure(call, why = {}) {
  const diagnostics = { startedAt: 1, endedAt: 9, recent: [], attempts: [] };
  return {
    out: "settle",
    call,
    at: 9,
    type: "tool_call_failed",
    method: "tools/call",
    reason: "stream_lost",
    outcome: "unknown",
    retrySafe: false,
    text: "the stream ended",
    diagnostics,
    ...why,
  };
}

/** The `connect` of an entry whose modules and instances are made by these. */
export const connectBy = (load, create) => connector(new Instances(load, create));

/** Instances that are fakes, collected in `cores`. `prepare` scripts each new one. */
function fakeInstances(prepare) {
  const cores = [];
  const instances = new Instances(
    () => emptyModule,
    () => {
      const core = new FakeCore();
      prepare(core, cores.length);
      cores.push(core);
      return core.exports;
    },
  );
  return { instances, cores };
}

/** A `connect` whose instances are fakes. */
export function fakeConnect(prepare = () => {}) {
  const { instances, cores } = fakeInstances(prepare);
  return { connect: connector(instances), cores };
}

/** A transport whose instances are fakes; the messages and errors it tells are collected. */
export function fakeTransport(options = {}, { prepare = () => {}, sdk = noSdk } = {}) {
  const { instances, cores } = fakeInstances(prepare);
  const transport = new ClientTransport({ instances, sdk }, "https://server.test/mcp", {
    fetch: noFetch,
    ...options,
  });
  const messages = [];
  const errors = [];
  transport.onmessage = (message) => messages.push(message);
  transport.onerror = (error) => errors.push(error);
  return { transport, cores, messages, errors };
}

/** The same, started, with its core. */
export async function startedTransport(options, more) {
  const fake = fakeTransport(options, more);
  await fake.transport.start();
  return { ...fake, core: fake.cores[0] };
}

/** A session that is ready, and its core. */
export async function fakeSession(options = {}, prepare = () => {}, address = "https://server.test/mcp") {
  const { connect, cores } = fakeConnect(prepare);
  const opening = connect(address, { fetch: noFetch, ...options });
  await turn();
  cores[0].ready();
  return { session: await opening, core: cores[0], cores, connect };
}

/** A fetch that never answers. */
export const noFetch = () => new Promise(() => {});

/** All events of a call, as a loop sees them. */
export async function eventsOf(call) {
  const events = [];
  for await (const event of call) events.push(event);
  return events;
}
