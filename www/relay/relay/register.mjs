// The table of all sessions: whose they are, when they were last heard of, what is under way. It keeps the quotas.
import { Metrics } from "./metrics.mjs";

/** One table. `store` keeps which sessions there are; what they do they say again by themselves. */
export class Register {
  #settings;
  #clock;
  #store;
  #sessions = new Map();
  #next = 1;
  #metrics;

  constructor({ settings, clock, store }) {
    this.#settings = settings;
    this.#clock = clock;
    this.#store = store;
    this.#metrics = new Metrics(clock);
    for (const { id: row, text } of store.rows(0, Number.MAX_SAFE_INTEGER, 1_000_000)) {
      const { session, caller } = JSON.parse(text);
      this.#sessions.set(session, { caller, row, calls: 0, bytes: 0, at: clock.now() });
      this.#next = row + 1;
    }
  }

  /** A caller wants one more session: what there are too many of, or nothing. */
  open(session, caller) {
    this.#expire();
    if (this.#of(caller).length >= this.#settings.mostSessions) return this.#refuse("sessions");
    const row = this.#next;
    this.#next += 1;
    this.#store.transaction(() => this.#store.put(row, "", JSON.stringify({ session, caller })));
    this.#sessions.set(session, { caller, row, calls: 0, bytes: 0, at: this.#clock.now() });
    return undefined;
  }

  /**
   * A session would have so many calls under way, and keeps so many bytes: `{ refused }`, what there is too much of, or
   * `{ left }`, how much it may keep beside the caller's other sessions.
   */
  allow(session, { calls, bytes }) {
    const { mostCalls, mostKeptBytes } = this.#settings;
    const known = this.#sessions.get(session);
    if (known === undefined) return { left: mostKeptBytes };
    const others = this.#of(known.caller).filter((each) => each !== known);
    const sum = (name) => others.reduce((total, each) => total + each[name], 0);
    const left = mostKeptBytes - sum("bytes");
    if (sum("calls") + calls > mostCalls) return { refused: this.#refuse("calls") };
    if (bytes > left) return { refused: this.#refuse("bytes") };
    Object.assign(known, { calls, bytes, at: this.#clock.now() });
    return { left };
  }

  /** What a session does now, and what it counted. */
  report(session, { calls, bytes, ...counted }) {
    this.#metrics.merge(counted);
    const known = this.#sessions.get(session);
    if (known !== undefined && calls !== undefined)
      Object.assign(known, { calls, bytes, at: this.#clock.now() });
  }

  close(session) {
    const known = this.#sessions.get(session);
    if (known === undefined) return;
    this.#sessions.delete(session);
    this.#store.transaction(() => this.#store.remove(known.row, known.row + 1));
  }

  /** Somebody asked for a session that is none of his. */
  mismatched() {
    this.#metrics.add("mismatched_sessions");
  }

  /** All of it, as Prometheus reads it. */
  metrics() {
    this.#expire();
    const all = [...this.#sessions.values()];
    const sum = (name) => all.reduce((total, each) => total + each[name], 0);
    return this.#metrics.text({ sessions: all.length, calls: sum("calls"), buffered_bytes: sum("bytes") });
  }

  #of(caller) {
    return [...this.#sessions.values()].filter((each) => each.caller === caller);
  }

  #refuse(what) {
    this.#metrics.add("refusals", { what });
    return what;
  }

  /** A session that says nothing for so long has ended without a word. */
  #expire() {
    const { idleMs, graceMs } = this.#settings;
    const since = this.#clock.now() - 2 * idleMs - graceMs;
    for (const [session, { at }] of this.#sessions) if (at < since) this.close(session);
  }
}
