// Options for a Client's request.
import type { SdkRequestOptions, Timeouts } from "../api/options.js";
import { longestWait } from "../base/promise.js";

// In a Client with a timer of its own a call has an hour, unless it is said otherwise.
const hourMs = 3_600_000;
// The second deadline, and time for its error to arrive.
const slackMs = 1_000;

/**
 * Options for a Client's request that let landfall's clocks come first: a call then fails with landfall's reason instead
 * of the Client's "Request timed out". Give it the `timeouts` of the transport.
 */
export function sdkRequestOptions(timeouts: Timeouts = {}): SdkRequestOptions {
  const { idleMs = 0, callMs, recoveryMs, deadlineMs } = timeouts;
  // Of a tool that is not known: no call has longer than its recovery, where that is set.
  const call = typeof callMs === "number" ? callMs : Math.min(120_000, recoveryMs ?? 120_000);
  const deadline = deadlineMs ?? Math.max(hourMs, call + (recoveryMs ?? Math.max(call, 120_000)));
  // The attempt after a sleep has no longer than this.
  const grace = timeouts.connectMs ?? Math.min(5_000, Math.max(deadline, idleMs) / 4);
  const timeout = Math.min(deadline + grace + slackMs, longestWait);
  return { timeout, maxTotalTimeout: timeout, resetTimeoutOnProgress: true, onprogress: () => {} };
}
