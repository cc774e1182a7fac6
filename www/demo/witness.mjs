// Watches the demo's call: keeps what came, and puts each event in words.

const CUTS = {
  fin: "cut: connection closed in mid-stream",
  rst: "cut: connection reset",
  inside: "cut in the middle of an event",
};

export class Witness {
  #timeline;
  #log;
  progress = [];
  messages = [];
  cuts = 0;
  stalls = 0;
  polls = 0;

  /** `log` is the server's: what was really cut, refused and resumed. */
  constructor(timeline, log) {
    this.#timeline = timeline;
    this.#log = log;
  }

  see(event) {
    const words = WORDS[event.type];
    const line = words ? words(this, event) : ["dim", event.type];
    if (line) this.#timeline.line(event.at, ...line);
  }

  item({ at, progress }) {
    this.progress.push(progress);
    this.#timeline.progress(at, progress);
  }

  lastCut() {
    this.cuts += 1;
    return this.#log.filter(({ cut }) => cut)[this.cuts - 1]?.cut;
  }

  get resumeRequests() {
    return this.#log.filter(({ method, lastEventId }) => method === "GET" && lastEventId);
  }

  get resumes() {
    return this.resumeRequests.filter(({ status }) => status === 200).length;
  }

  get refusals() {
    return this.resumeRequests.length - this.resumes;
  }
}

const after = (waitMs) => (waitMs < 1 ? "at once" : `in ${Math.round(waitMs)} ms`);
const count = (number, name) => `${number} ${name}${number === 1 ? "" : "s"}`;

const WORDS = {
  sent: (_, { wireId }) => ["dim", `tools/call sent, request ${wireId}`],
  open: (_, { status }) => ["dim", `stream open, HTTP ${status}`],

  progress(witness, event) {
    witness.item(event);
  },

  message(witness, { message }) {
    witness.messages.push(message.params.data);
    return ["cyan", `server: ${message.params.data}`];
  },

  polling(witness, { waitMs }) {
    witness.polls += 1;
    return ["yellow", `closed by the server, come back ${after(waitMs)}`];
  },

  suspect(witness, { silentMs }) {
    witness.stalls += 1;
    return ["red", `not a byte for ${Math.round(silentMs)} ms: half-open? Try beside it`];
  },

  disconnected(witness, { cause, cursor }) {
    if (cause !== "idle") return ["red", `${CUTS[witness.lastCut()] ?? cause}; had ${cursor}`];
    return ["red", `it was half-open, the resume wins; had ${cursor}`];
  },

  reconnecting(witness, { attempt, waitMs, cursor }) {
    const status = attempt > 1 ? witness.resumeRequests.at(-1).status : 200;
    const refused = status === 200 ? "" : `refused with ${status}, `;
    return ["yellow", `${refused}resume from ${cursor} ${after(waitMs)}`];
  },

  resumed(witness, { replayed, duplicates }) {
    const from = witness.resumeRequests.at(-1).lastEventId;
    const repeats = duplicates > 0 ? `, and ${count(duplicates, "repeat")} dropped` : "";
    return ["green", `resumed from ${from}: ${count(replayed - duplicates, "new event")}${repeats}`];
  },

  result: (_, { result, error }) =>
    error ? ["red", `error ${error.code}: ${error.message}`] : ["green", `result: ${result.content[0].text}`],

  tool_call_failed: (_, { reason, outcome, message }) => [
    "red",
    `failed: ${reason} (${outcome}): ${message}`,
  ],
};
