// What the wrapper counts beside the core.
import type { FailureReason, Outcome } from "../api/failure.js";
import type { Histogram, Metrics } from "../api/metrics.js";
import type { Why } from "./failure.js";

/** What a core gives that has counted nothing. */
export function noMetrics(): Metrics {
  const empty = (): Histogram => ({ count: 0, sum: 0, p50: 0, p90: 0, p99: 0, max: 0 });
  return {
    calls: 0,
    answered: 0,
    exhausted: 0,
    failed: {},
    outcomes: { not_sent: 0, rejected: 0, unknown: 0 },
    drops: { end: 0, network: 0, idle: 0, first_byte: 0, status: 0, session: 0 },
    polls: 0,
    sessionMismatches: 0,
    events: 0,
    duplicates: 0,
    gaps: 0,
    skipped: 0,
    reissues: 0,
    bytes: 0,
    resumes: { tried: 0, hit: 0, empty: 0, refused: {} },
    levels: { L1: { tried: 0, won: 0 }, L2: { tried: 0, won: 0 } },
    probes: { asked: 0, answered: 0, refused: 0, timedOut: 0 },
    histograms: {
      callMs: empty(),
      streamMs: empty(),
      replayed: empty(),
      recoverMs: empty(),
      firstByteMs: empty(),
    },
  };
}

/** Counts what no core counts: calls that never reached one or went with it, and what the wrapper found of others. */
export class Uncounted {
  #failures: { reason: FailureReason; outcome: Outcome; times: number }[] = [];

  /** One call failed. */
  count({ reason, outcome }: Pick<Why, "reason" | "outcome">): void {
    const known = this.#failures.find((each) => each.reason === reason && each.outcome === outcome);
    if (known === undefined) this.#failures.push({ reason, outcome, times: 1 });
    else known.times += 1;
  }

  /** The metrics of a core with these added; `reset` forgets them. */
  addTo(metrics: Metrics, reset: boolean): Metrics {
    const sum = { ...metrics, failed: { ...metrics.failed }, outcomes: { ...metrics.outcomes } };
    for (const { reason, outcome, times } of this.#failures) {
      sum.calls += times;
      sum.failed[reason] = (sum.failed[reason] ?? 0) + times;
      sum.outcomes[outcome] += times;
    }
    if (reset) this.#failures = [];
    return sum;
  }
}
