// What is counted: in a session, and of all of them as Prometheus reads it.
const PREFIX = "landfall_relay_";
const QUANTILES = [0.5, 0.9, 0.99];
// Each bucket ends a fifth above the one before.
const STEP = 1.2;
const LEAST = 0.001;
const MINUTE_MS = 60_000;

const HELP = {
  sessions: "Sessions that are kept",
  calls: "Calls under way",
  buffered_bytes: "Events that are kept, in characters",
  connection_seconds: "Lifetimes of connections",
  tool_seconds: "From a tools/call to its outcome",
  drops: "Connections that clients were lost from",
  drops_per_minute: "The same, in the last minute",
  resumes: "Streams that were asked for again, by kind and what came of it",
  mismatched_sessions: "Requests with the id of a session that is not known, or is another caller's",
  lost_sessions: "Sessions that the server forgot",
  exhausted_retries: "Calls that failed after attempts to recover upstream",
  abandoned_calls: "Calls that were cancelled, for nobody came back for them",
  refusals: "Requests beyond a quota",
  storage_failures: "Events that could not be kept",
};

/** What one session counted since it was asked last: plain data. */
export class Counts {
  #counts = [];
  #samples = [];

  add(name, labels = {}, count = 1) {
    this.#counts.push([name, labels, count]);
  }

  sample(name, value) {
    this.#samples.push([name, value]);
  }

  take() {
    const taken = { counts: this.#counts, samples: this.#samples };
    this.#counts = [];
    this.#samples = [];
    return taken;
  }
}

/** The counts of all sessions. */
export class Metrics {
  #clock;
  #counters = new Map();
  #summaries = new Map([
    ["connection_seconds", new Summary()],
    ["tool_seconds", new Summary()],
  ]);
  #drops = [];

  constructor(clock) {
    this.#clock = clock;
    for (const name of [
      "drops",
      "mismatched_sessions",
      "lost_sessions",
      "exhausted_retries",
      "abandoned_calls",
    ])
      this.add(name, {}, 0);
  }

  /** Adds what a session counted. */
  merge({ counts = [], samples = [] }) {
    for (const [name, labels, count] of counts) this.add(name, labels, count);
    for (const [name, value] of samples) this.#summaries.get(name)?.add(value);
  }

  add(name, labels = {}, count = 1) {
    const names = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
    const key = `${name}_total${names.length === 0 ? "" : `{${names.join()}}`}`;
    this.#counters.set(key, (this.#counters.get(key) ?? 0) + count);
    if (name === "drops") for (let n = 0; n < count; n += 1) this.#drops.push(this.#clock.now());
  }

  /** The text that Prometheus reads. */
  text(gauges) {
    const since = this.#clock.now() - MINUTE_MS;
    this.#drops = this.#drops.filter((at) => at > since);
    const lines = [];
    for (const [name, value] of Object.entries({ ...gauges, drops_per_minute: this.#drops.length }))
      lines.push(...head(name, "gauge"), `${PREFIX}${name} ${value}`);
    let last;
    for (const [key, value] of [...this.#counters].sort(([one], [other]) => (one < other ? -1 : 1))) {
      const name = /^(\w+)_total/.exec(key)[1];
      if (name !== last) lines.push(...head(name, "counter"));
      last = name;
      lines.push(`${PREFIX}${key} ${value}`);
    }
    for (const [name, summary] of this.#summaries)
      lines.push(...head(name, "summary"), ...summary.lines(name));
    return `${lines.join("\n")}\n`;
  }
}

function head(name, type) {
  const full = `${PREFIX}${name}${type === "counter" ? "_total" : ""}`;
  return [...(HELP[name] ? [`# HELP ${full} ${HELP[name]}`] : []), `# TYPE ${full} ${type}`];
}

/** Many numbers in few buckets: a quantile is at most a fifth too high. */
class Summary {
  #buckets = new Map();
  #count = 0;
  #sum = 0;

  add(value) {
    const bucket = value <= LEAST ? 0 : Math.ceil(Math.log(value / LEAST) / Math.log(STEP));
    this.#buckets.set(bucket, (this.#buckets.get(bucket) ?? 0) + 1);
    this.#count += 1;
    this.#sum += value;
  }

  lines(name) {
    const quantiles = this.#count === 0 ? [] : QUANTILES.map((part) => [part, this.#quantile(part)]);
    return [
      ...quantiles.map(([part, value]) => `${PREFIX}${name}{quantile="${part}"} ${value}`),
      `${PREFIX}${name}_sum ${this.#sum}`,
      `${PREFIX}${name}_count ${this.#count}`,
    ];
  }

  #quantile(part) {
    let left = part * this.#count;
    for (const [bucket, count] of [...this.#buckets].sort(([one], [other]) => one - other)) {
      left -= count;
      if (left <= 0) return Number((LEAST * STEP ** bucket).toPrecision(3));
    }
    return 0;
  }
}
