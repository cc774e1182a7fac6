// One client's session: its calls, their streams, and the questions the server asked it.

import { Stream } from "./streams.mjs";

export class Session {
  #streams = new Set();
  #questions = new Map();
  #runs = new Map();
  /** The run of each call key: a second call with it is a repeat. */
  #keyed = new Map();
  /** The status that requests for this session get once it is gone. */
  dead;
  /** The stream of a GET without a cursor: one at a time. */
  listen;

  constructor(id, protocolVersion) {
    this.id = id;
    this.protocolVersion = protocolVersion;
    this.listen = this.openStream("listen");
  }

  openStream(name, key) {
    const stream = new Stream(name, key);
    this.#streams.add(stream);
    return stream;
  }

  streamWith(eventId) {
    for (const stream of this.#streams) if (stream.has(eventId)) return stream;
    return undefined;
  }

  begin(run) {
    this.answers(run.request.id, run);
    if (run.callKey !== undefined) this.#keyed.set(run.callKey, run);
  }

  /** A request with this id is answered by this run. */
  answers(requestId, run) {
    this.#runs.set(requestId, run);
  }

  runOf(requestId) {
    return this.#runs.get(requestId);
  }

  /** The run that a call with this key would repeat. */
  runWith(callKey) {
    return callKey === undefined ? undefined : this.#keyed.get(callKey);
  }

  expectAnswer(id, signal) {
    return new Promise((resolve, reject) => {
      this.#questions.set(id, resolve);
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
  }

  answered(message) {
    this.#questions.get(message.id)?.(message);
    return this.#questions.delete(message.id);
  }

  /** The session is gone: its tools stop, its sockets drop, later requests get `status`. */
  kill(status, how = "fin") {
    this.dead = status;
    for (const run of this.#runs.values()) run.stop();
    for (const stream of this.#streams) stream.drop(how);
  }
}
