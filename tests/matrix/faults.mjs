// The faults: what the server does to the call, and what landfall must make of it.
//
// - `steps`: the script of the fault server (tests/server/README.md); the tool runs on whatever happens to its stream
// - `faults`: what else is broken, by the address; `gate`: a front of the server's; `before`: just before the call
// - `hint`: a wait the server asks for, counted from `after`: the close of the stream, or a refused resume
// - `timeouts`: landfall's clocks, where the defaults would have the matrix take minutes
// - `expected`: landfall's outcome, its reason, and the milliseconds it may take
//
// A limit decides only where nothing else can: the rows with `timeouts` whose `atLeastMs` is that limit.

/** Every stream begins like this: an event without data, one with, and time for the client to read both. */
const beginning = [{ prime: true }, { message: "working" }, { wait: 200 }];
const withoutIds = [{ noIds: true }, ...beginning.slice(1)];

const FOREVER = 1_000;
const refuse = (status, times = FOREVER, more = {}) => [
  ...beginning,
  { refuseResume: { status, times, ...more } },
  { cut: "rst" },
];
const hinted = (retry) => [{ prime: true, retry }, ...beginning.slice(1), { close: true }];
/** Silence and endless refusals, in seconds instead of minutes. */
const SHORT = { idleMs: 1_000, callMs: 4_000, recoveryMs: 4_000 };
const answer = (atMostMs, atLeastMs = 0) => ({ outcome: "answer", atLeastMs, atMostMs });
const failed = (reason, atMostMs, atLeastMs = 0) => ({ outcome: "failed", reason, atLeastMs, atMostMs });

/** Each resume is taken, primed with the old id, and closed; nothing else ever comes. */
const primedOnly = (retry) => [
  { prime: true, everyTime: true, retry },
  ...beginning.slice(1),
  { close: true },
  ...Array.from({ length: FOREVER }, () => [{ awaitResume: true }, { wait: 20 }, { close: true }]).flat(),
];

/** A rate limiter: for `ms` after the first resume it refuses every one. */
const limited = (ms) => () => {
  let until;
  return (req, res, log) => {
    const lastEventId = req.headers["last-event-id"];
    if (req.method !== "GET" || lastEventId === undefined) return false;
    until ??= Date.now() + ms;
    if (Date.now() >= until) return false;
    log.push({ at: Date.now(), method: "GET", lastEventId, status: 429 });
    res.writeHead(429, { "retry-after": String(ms / 1_000) }).end();
    return true;
  };
};

export const FAULTS = [
  {
    name: "hard cut after an id",
    steps: [...beginning, { cut: "rst" }],
    expected: answer(2_000),
  },
  {
    name: "clean close after an id, `retry: 300`",
    steps: [...beginning, { close: true, retry: 300 }],
    hint: { ms: 300, text: "300 ms", after: "close" },
    expected: answer(1_500, 500),
  },
  {
    name: "the resumed stream is cut again before a new id",
    steps: [...beginning, { cut: "rst" }, { awaitResume: true }, { wait: 100 }, { cut: "rst" }],
    expected: answer(4_000),
  },
  {
    name: "hard cut, no id",
    steps: [...withoutIds, { cut: "rst" }],
    expected: failed("stream_lost", 1_500),
  },
  {
    name: "clean end, no id",
    steps: [...withoutIds, { close: true }],
    expected: failed("stream_lost", 1_500),
  },
  { name: "resume refused: 404", steps: refuse(404), expected: failed("resume_rejected", 4_000) },
  { name: "resume refused: 405", steps: refuse(405), expected: failed("resume_rejected", 2_000) },
  { name: "resume refused: 500, twice", steps: refuse(500, 2), expected: answer(6_000) },
  {
    name: "resume refused: 500, always",
    steps: refuse(500),
    timeouts: SHORT,
    expected: failed("recovery_exhausted", 5_500, 4_000),
  },
  {
    name: "resume refused: 401, no credentials to offer",
    steps: refuse(401, FOREVER, { headers: { "www-authenticate": "Bearer" } }),
    expected: failed("unauthorized", 2_000),
  },
  {
    name: "resume refused: 429, `Retry-After: 3`",
    steps: [...beginning, { cut: "rst" }],
    gate: limited(3_000),
    hint: { ms: 3_000, text: "3 s", after: "refusal" },
    expected: answer(5_500, 3_000),
  },
  {
    name: "half-open: silence, a resume would work",
    steps: [...beginning, { stall: 500 }],
    timeouts: SHORT,
    expected: answer(2_500, 1_000),
  },
  {
    name: "half-open: silence, no id, the server is well",
    steps: [...withoutIds, { stall: 60_000 }],
    timeouts: SHORT,
    expected: failed("call_timeout", 5_500, 4_000),
  },
  {
    name: "half-open: silence, no id, other requests are cut",
    steps: [...withoutIds, { stall: 60_000 }],
    faults: { ping: { cutBeforeHeaders: true } },
    timeouts: SHORT,
    expected: failed("stream_lost", 2_500, 1_000),
  },
  {
    name: "half-open: silence, other requests hang too",
    steps: [...beginning, { refuseResume: { hang: true, times: FOREVER } }, { stall: 60_000 }],
    faults: { ping: { hang: true } },
    timeouts: SHORT,
    expected: failed("recovery_exhausted", 7_000, 4_000),
  },
  {
    name: "endless resumes, each empty",
    steps: refuse(200),
    timeouts: SHORT,
    expected: failed("recovery_exhausted", 5_500, 4_000),
  },
  {
    name: "endless resumes, each with the old id alone",
    steps: primedOnly(),
    timeouts: SHORT,
    expected: failed("recovery_exhausted", 5_500, 4_000),
  },
  {
    // Who keeps to such a hint without end asks a server that has nothing a hundred times a second.
    name: "endless resumes, each with the old id and `retry: 1`",
    steps: primedOnly(1),
    timeouts: SHORT,
    expected: failed("recovery_exhausted", 6_000, 4_000),
  },
  {
    name: "an id without data, then a clean close",
    steps: [{ idOnly: true }, { wait: 200 }, { close: true }],
    expected: answer(2_000),
  },
  {
    name: "a JSON-RPC error as the answer",
    steps: [...beginning, { error: { code: -32603, message: "The tool broke" } }],
    expected: { outcome: "error", reason: "-32603", atLeastMs: 0, atMostMs: 1_500 },
  },
  {
    name: "clean close, `retry: 99999999999`",
    steps: hinted(99_999_999_999),
    hint: { ms: 99_999_999_999, text: "3 years", after: "close" },
    expected: failed("retry_exceeds_budget", 1_500),
  },
  {
    name: "clean close, `retry: 3600000`",
    steps: hinted(3_600_000),
    hint: { ms: 3_600_000, text: "1 h", after: "close" },
    expected: failed("retry_exceeds_budget", 1_500),
  },
  {
    name: "the session is gone before the call: its POST gets 404",
    before: (server) => server.forgetSessions(),
    steps: beginning,
    expected: answer(1_500),
  },
  {
    name: "the session dies under the call",
    steps: [...beginning, { killSession: 404 }],
    expected: failed("session_lost", 2_000),
  },
];
