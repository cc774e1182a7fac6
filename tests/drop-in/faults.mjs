// What becomes of a call in each fault, through each client: the scripts of the matrix, and some of this suite's.
//
// `expected`, as in the matrix, is for clients of the legacy era; MODERN has what differs in the modern one, which
// resumes nothing. `known` is landfall's `outcome`, `unknown` unless said.

import { FAULTS } from "../matrix/faults.mjs";
import { modernFront } from "./modern.mjs";

const answer = (atMostMs, executions = 1) => ({ outcome: "answer", atLeastMs: 0, atMostMs, executions });
const failed = (reason, atMostMs, more = {}) => ({
  outcome: "failed",
  reason,
  atLeastMs: 0,
  atMostMs,
  executions: 1,
  ...more,
});
const LOST = failed("stream_lost", 2_500);

/** What the modern era makes of the scripts of the matrix: a cut is a loss, and no `retry` is meant for it. */
const MODERN = {
  "hard cut after an id": LOST,
  "clean close after an id, `retry: 300`": LOST,
  "hard cut, no id": LOST,
  "clean end, no id": LOST,
  "half-open: silence, a resume would work": failed("call_timeout", 6_500, { atLeastMs: 4_000 }),
  "half-open: silence, no id, the server is well": failed("call_timeout", 6_500, { atLeastMs: 4_000 }),
  "half-open: silence, no id, other requests are cut": failed("stream_lost", 4_000, { atLeastMs: 1_000 }),
  "half-open: silence, other requests hang too": failed("idle_timeout", 8_000, { atLeastMs: 4_000 }),
  "an id without data, then a clean close": LOST,
  "a JSON-RPC error as the answer": { outcome: "error", reason: "-32603", atLeastMs: 0, atMostMs: 2_500 },
  "clean close, `retry: 99999999999`": LOST,
  "clean close, `retry: 3600000`": LOST,
};

/** Faults of the POST itself, the same in both eras. `tool`: another than `scripted`; `post`: the server's word. */
const POSTS = [
  {
    name: "its POST dies before the headers, and the tool ran",
    post: { cutBeforeHeaders: "rst", execute: true },
    expected: failed("network_error", 2_500),
  },
  {
    name: "its POST dies before the headers once, and the tool only reads",
    tool: "scripted_read",
    post: { cutBeforeHeaders: "rst", execute: true, times: 1 },
    expected: answer(4_000, 2),
  },
  {
    name: "its POST gets 500, and the tool ran",
    post: { status: 500, body: "The tool broke", execute: true },
    expected: failed("http_error", 2_500),
  },
  {
    name: "its POST gets 503 once, and the tool only reads",
    tool: "scripted_read",
    post: { status: 503, execute: true, times: 1 },
    expected: answer(4_000, 2),
  },
  {
    name: "its POST gets 403",
    post: { status: 403, body: "Not for you" },
    expected: failed("forbidden", 2_500, { known: "rejected", executions: 0 }),
  },
  {
    name: "its POST gets 429 and `Retry-After: 1`, once",
    post: { status: 429, headers: { "retry-after": "1" }, times: 1 },
    expected: { ...answer(4_000), atLeastMs: 1_000 },
  },
  {
    name: "its POST gets 429 and `Retry-After: 100000`",
    post: { status: 429, headers: { "retry-after": "100000" } },
    expected: failed("retry_exceeds_budget", 2_500, { known: "rejected", executions: 0 }),
  },
];

const begun = [{ message: "working" }, { wait: 200 }];

/** A stream cut once; the answer of the tool's next execution comes through. */
const cutOnce = () => {
  const front = modernFront();
  let isCut = false;
  return (req, res, log) => {
    const isDealtWith = front(req, res, log);
    if (!isCut && req.headers["mcp-name"] === "scripted_read") {
      isCut = true;
      setTimeout(() => res.socket?.resetAndDestroy(), 300);
    }
    return isDealtWith;
  };
};

/** In the modern era a lost call goes out again, under a new id, if that can do no harm. */
const REISSUES = [
  {
    name: "hard cut once, and the tool only reads",
    tool: "scripted_read",
    gate: cutOnce,
    steps: [...begun, { wait: 500 }],
    expected: answer(5_000, 2),
  },
  {
    name: "hard cut, again and again, and the tool may be repeated",
    tool: "scripted_idempotent",
    steps: [...begun, { cut: "rst" }],
    expected: failed("stream_lost", 8_000, { executions: 3 }),
  },
];

/** The faults that mean something to a client of this era, each with what is expected there. */
export const faultsOf = (era) => faultsIn(era).map(withTimeToProbe);

function faultsIn(era) {
  const posts = POSTS.map((fault) => ({ steps: begun, ...fault }));
  if (era === "legacy") return [...FAULTS, ...posts];
  const known = FAULTS.filter(({ name }) => name in MODERN).map(inModern);
  return [...known, ...posts, ...REISSUES].map((fault) => ({ gate: modernFront, ...fault }));
}

/** A probe is `server/discover` there, which the client itself has sent once when it connected. */
function inModern({ name, faults, ...fault }) {
  const probe = faults && { "server/discover": { ...faults.ping, after: 1 } };
  return { ...fault, name, faults: probe, expected: MODERN[name] };
}

/** As long as shortened clocks let it be: several clients share the machine here. */
function withTimeToProbe(fault) {
  return fault.timeouts ? { ...fault, timeouts: { ...fault.timeouts, connectMs: 900 } } : fault;
}
