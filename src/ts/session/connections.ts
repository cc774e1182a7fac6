// The connections of one session, one after the other.
import { ConfigError } from "../api/errors.js";
import type { Metrics } from "../api/metrics.js";
import { within } from "../base/promise.js";
import { textOf } from "../base/thrown.js";
import { aborted, type Why } from "../call/failure.js";
import { noMetrics } from "../call/metrics.js";
import type { Instances } from "../core/instance.js";
import type { SessionFacts } from "../core/protocol.js";
import { elsewhere } from "../core/worker-context.js";
import { group } from "../options/check.js";
import { Connection } from "./connection.js";
import type { FactsKeeper, Owner } from "./owner.js";

/** Why there is no connection. */
export interface NoConnection {
  why: Why;
  thrown?: unknown;
}

/**
 * The connections of one session, one after the other: the next call after a trap opens a new one, which goes on with
 * the server's session without another handshake.
 */
export class Connections implements FactsKeeper {
  /** What is known of the server's session, as the core told it last. */
  facts: SessionFacts | undefined;
  readonly #instances: Instances;
  readonly #owner: Owner;
  #connection: Connection | undefined;

  constructor(instances: Instances, owner: Owner, facts?: SessionFacts) {
    this.#instances = instances;
    this.#owner = owner;
    this.facts = facts;
  }

  /** Loads the module; resolves with why there is none, where that is so. An abort of `signal` ends the wait for it. */
  async load(signal?: AbortSignal): Promise<NoConnection | undefined> {
    const { handshakeMs, handshakeClock } = this.#owner.settings;
    let isLate = false;
    const late = () => {
      isLate = true;
      return new Error(`it was not there within ${handshakeClock}`);
    };
    try {
      await within(handshakeMs, () => this.#instances.ready(), late, signal);
      return undefined;
    } catch (thrown) {
      if (signal?.aborted) return { why: aborted, thrown: signal.reason };
      if (thrown instanceof ConfigError) throw thrown;
      return { why: noModule(thrown, isLate ? "connect_timeout" : "internal_error"), thrown };
    }
  }

  /** The connection to use after {@link load}, or why there is none. Throws {@link ConfigError}. */
  usable(): Connection | NoConnection {
    if (this.#connection?.isElsewhere)
      return { why: { reason: "closed", outcome: "not_sent", message: elsewhere } };
    try {
      return this.#live();
    } catch (thrown) {
      if (thrown instanceof ConfigError) throw thrown;
      return { why: noModule(thrown, "internal_error"), thrown };
    }
  }

  /** What its connections have counted. Throws {@link ConfigError}. */
  metrics(options?: { reset?: boolean }): Metrics {
    const { reset = false } = group("options", options, ["reset"]);
    if (typeof reset !== "boolean") throw new ConfigError("reset", "reset must be true or false");
    return this.#owner.uncounted.addTo(this.#connection?.metrics(reset) ?? noMetrics(), reset);
  }

  /** Ends it, with the server's session where that is wanted. From elsewhere nothing of it can be ended. */
  close(): Promise<void> {
    if (this.#connection?.isElsewhere) {
      this.#owner.settings.log.write("error", elsewhere);
      return Promise.resolve();
    }
    const closing = this.#connection?.close() ?? Promise.resolve();
    const isLost = this.#connection?.isOver === true && this.facts?.sessionId !== undefined;
    if (!isLost || !this.#owner.settings.core().terminate) return closing;
    // A trap took the core that had to end the server's session: another one does.
    try {
      return this.#live().close();
    } catch (thrown) {
      this.#owner.settings.log.write("warn", `the server's session can't be ended: ${textOf(thrown)}`);
      return closing;
    }
  }

  #live(): Connection {
    if (this.#connection === undefined || this.#connection.isOver) this.#connection = this.#open();
    return this.#connection;
  }

  #open(): Connection {
    const open = () => new Connection(this.#instances.acquire(), this.#owner, this);
    try {
      return open();
    } catch (thrown) {
      // A core that refuses to go on with this session may still make another.
      if (!(thrown instanceof ConfigError) || this.facts === undefined) throw thrown;
      this.facts = undefined;
      return open();
    }
  }
}

function noModule(thrown: unknown, reason: "internal_error" | "connect_timeout"): Why {
  const said = textOf(thrown);
  // What browsers say names no directive, or one that is far too wide.
  const isPolicy = /content security policy|\bCSP\b/i.test(said);
  const advice = isPolicy
    ? "; add 'wasm-unsafe-eval' to script-src of the page's Content-Security-Policy"
    : "";
  const message = `landfall's WebAssembly module can't be used: ${said}${advice}`;
  return { reason, outcome: "not_sent", message };
}
