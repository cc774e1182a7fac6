// What a session counts.
import type { DropCause, FailureReason, Outcome } from "./failure.js";

/** Numbers of one kind, in buckets: `p50`, `p90` and `p99` are at most 19 % too high, the others are exact. */
export interface Histogram {
  /** How many there are. */
  count: number;
  /** Their sum. */
  sum: number;
  /** Half of them are not above this. */
  p50: number;
  /** Nine in ten are not above this. */
  p90: number;
  /** 99 of a hundred are not above this. */
  p99: number;
  /** The largest. */
  max: number;
}

/** Counters of a session. */
export interface Metrics {
  /** Requests that were made. */
  calls: number;
  /** Those that ended with an answer, a JSON-RPC error too. */
  answered: number;
  /** Those that failed after at least one attempt to recover: the number to watch. */
  exhausted: number;
  /** Those that failed, by reason. */
  failed: Partial<Record<FailureReason, number>>;
  /** Those that failed, by what is known of their execution. */
  outcomes: Record<Outcome, number>;
  /** Streams that were lost, by cause. */
  drops: Record<DropCause, number>;
  /** Clean closes that moved the cursor and were waited out: the server's way of polling, no drops. */
  polls: number;
  /** Times the server did not know the session. */
  sessionMismatches: number;
  /** Events with data that came. */
  events: number;
  /** Those dropped because they had come before. */
  duplicates: number;
  /** Gaps that were reported. */
  gaps: number;
  /** Events whose handler failed for good: again when it came again, or the call had ended. */
  skipped: number;
  /** Requests sent again. */
  reissues: number;
  /** Bytes of bodies. */
  bytes: number;
  /** Resumes of streams: those that brought something new, those that opened and did not, those refused, by status. */
  resumes: { tried: number; hit: number; empty: number; refused: Record<string, number> };
  /** Recovery by level; `won` brought data. */
  levels: Record<"L1" | "L2", { tried: number; won: number }>;
  /** Questions whether the session lives. */
  probes: { asked: number; answered: number; refused: number; timedOut: number };
  /**
   * In whole milliseconds: a call to its outcome, a stream's headers to its end, a drop to the next new event, a POST to its
   * headers; `replayed` is new and repeated events at the start of a resume.
   */
  histograms: Record<"callMs" | "streamMs" | "replayed" | "recoverMs" | "firstByteMs", Histogram>;
}
