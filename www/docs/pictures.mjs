// pictures.mjs: draws the pictures of ARCHITECTURE.md and the README into docs/. A test sees that they are what this draws.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { arrow, box, picture, text } from "./draw.mjs";
import { speed } from "./speed.mjs";

// The rungs stand in one column.
const x = 330;
const width = 350;

const ladder = picture(960, 772, "The ladder of recovery", [
  text(20, 28, "A stream", "quiet"),
  box(20, 40, 230, 64, ["A body is read", "the POST's, or a resume's"], "act"),
  box(20, 200, 230, 118, [
    "Suspect: silent for idleMs",
    "with a cursor: a resume is opened",
    "beside it, the first data wins;",
    "without: the session is asked;",
    "the body stays open all the while",
  ]),
  arrow(
    [
      [135, 104],
      [135, 200],
    ],
    "down",
  ),
  text(145, 156, "idleMs", "quiet"),
  arrow(
    [
      [60, 200],
      [60, 104],
    ],
    "up",
    "good",
  ),
  text(52, 156, "a byte", "quiet", "end"),
  text(x, 28, "The rungs, tried in this order", "quiet"),
  box(
    x,
    40,
    width,
    118,
    [
      "1  L1: resume the stream",
      "if it has a cursor: wait, GET with Last-Event-ID",
      "409, 425, 408, 429, 5xx, network error: wait, again",
      "401: credentials, the cursor stays",
      "405, 406, 501, other 4xx, no stream: rung 3",
    ],
    "act",
  ),
  arrow(
    [
      [250, 60],
      [x, 60],
    ],
    "right",
  ),
  text(290, 52, "drop", "quiet", "middle"),
  arrow(
    [
      [x, 84],
      [250, 84],
    ],
    "left",
    "good",
  ),
  text(256, 102, "200", "quiet"),
  arrow(
    [
      [505, 158],
      [505, 200],
    ],
    "down",
  ),
  text(515, 184, "404, 410, 400; or two other failures", "quiet"),
  box(
    x,
    200,
    width,
    100,
    [
      "2  Ask the session: POST ping",
      "answered: it lives. Once more rung 1, then rung 3",
      "404, 410: dead, rung 4; timed out: proves nothing",
      "no network, twice: a silent body is given up",
    ],
    "act",
  ),
  arrow(
    [
      [250, 262],
      [x, 262],
    ],
    "right",
  ),
  arrow(
    [
      [505, 300],
      [505, 342],
    ],
    "down",
  ),
  text(515, 326, "it lives, and the cursor is of no use", "quiet"),
  box(
    x,
    342,
    width,
    100,
    [
      "3  Re-issue: the request, sent again",
      "if it did not run, or may run twice; maxReissues (2)",
      "never while an older request can answer, but once",
      "for a safe call when recoveryMs is over",
    ],
    "act",
  ),
  arrow(
    [
      [135, 318],
      [135, 416],
      [x, 416],
    ],
    "right",
  ),
  text(145, 408, "recoveryMs is over", "quiet"),
  arrow(
    [
      [x, 370],
      [290, 370],
      [290, 84],
      [250, 84],
    ],
    "left",
    "good",
  ),
  text(280, 374, "its body is read", "quiet", "end"),
  arrow(
    [
      [x + width, 250],
      [760, 250],
      [760, 530],
      [x + width, 530],
    ],
    "left",
  ),
  text(770, 396, "it is dead", "quiet"),
  box(
    x,
    484,
    width,
    100,
    [
      "4  L2: replace the session",
      "initialize, initialized, subscriptions, log level;",
      "once for all calls, three times a minute at most",
      "safe calls: rung 3; others: session_lost",
    ],
    "act",
  ),
  arrow(
    [
      [x + 60, 484],
      [x + 60, 442],
    ],
    "up",
    "good",
  ),
  text(x + 70, 468, "in the new session", "quiet"),
  box(
    x,
    638,
    width,
    82,
    [
      "Failed: tool_call_failed",
      "the reason is the first cause that made it",
      "unrecoverable; clocks only if nothing else is known",
    ],
    "bad",
  ),
  arrow(
    [
      [505, 584],
      [505, 638],
    ],
    "down",
    "bad",
  ),
  text(515, 616, "no rung is left", "quiet"),
  arrow(
    [
      [900, 40],
      [900, 679],
      [x + width, 679],
    ],
    "left",
    "bad",
  ),
  text(890, 60, "recoveryMs: no open stream", "quiet", "end"),
  text(890, 80, "deadlineMs: the whole call", "quiet", "end"),
  text(890, 100, "callMs: open, but no message", "quiet", "end"),
  text(890, 120, "a server's wait beyond them", "quiet", "end"),
  box(20, 638, 230, 64, ["Settled: the answer", "from any body, the first wins"], "good"),
  arrow(
    [
      [20, 72],
      [8, 72],
      [8, 670],
      [20, 670],
    ],
    "right",
    "good",
  ),
  text(
    20,
    752,
    "While no attempt gets an HTTP answer, one call's attempts speak for all calls of the session.",
    "quiet",
  ),
]);

const room = (left, top, name, line) => box(left, top, 180, 58, [name, line]);

const house = picture(960, 620, "The house: core, driver, wrapper", [
  text(20, 28, "src/ts: the wrapper. A room imports those below it only", "quiet"),
  ...[
    ["entry", "the package's entries"],
    ["sdk", "the drop-in transport"],
    ["session", "a session's life"],
    ["call", "a call's record, events"],
    ["options", "the user's words checked"],
  ].map(([name, line], i) => room(20 + i * 186, 40, name, line)),
  ...[
    ["core", "the crossing: decoder"],
    ["http", "exchanges, bodies"],
    ["base", "helpers that know nothing"],
    ["api", "the public words"],
  ].map(([name, line], i) => room(20 + i * 186, 112, name, line)),
  arrow(
    [
      [420, 170],
      [420, 250],
    ],
    "down",
    "good",
  ),
  text(430, 206, "in: calls, heads, bytes, ends", "quiet"),
  arrow(
    [
      [680, 250],
      [680, 170],
    ],
    "up",
    "good",
  ),
  text(690, 206, "out: batches of what to tell and do", "quiet"),
  text(20, 240, "src/web: the driver. Rust, wasm32; obeys", "quiet"),
  box(20, 250, 924, 64, [
    "exports, transport, protocol, exchange, options, timer, host",
    "one timer; a batch is numbers beside one text, requests to make among them; no rules",
  ]),
  arrow(
    [
      [420, 314],
      [420, 394],
    ],
    "down",
    "good",
  ),
  text(430, 350, "Input", "quiet"),
  arrow(
    [
      [680, 394],
      [680, 314],
    ],
    "up",
    "good",
  ),
  text(690, 350, "Output", "quiet"),
  text(20, 384, "src/proto: the core. No clock, no I/O, no wasm; decides", "quiet"),
  box(
    20,
    394,
    924,
    58,
    ["client: thin glue", "takes an Input, asks the machines, obeys their answers, queues Outputs"],
    "act",
  ),
  box(
    20,
    470,
    456,
    76,
    [
      "machines: one question each, their state their own",
      "recovery, race, liveness, outage, dispatch, dialect, call,",
      "redirect; none knows the client",
    ],
    "act",
  ),
  box(488, 470, 456, 76, [
    "leaves: no state of the session",
    "sse, json, jsonrpc, http, cursor, gap, backoff, deadline,",
    "timer, time, error, stats, config, sorted",
  ]),
  text(
    20,
    580,
    "The same core runs natively in virtual time: tests/proto, with 20,000 schedules of faults in every test run.",
    "quiet",
  ),
  text(
    20,
    604,
    "It never waits: now is an argument, and what it wants to be woken for is an Output.",
    "quiet",
  ),
]);

function clocks() {
  const [left, right] = [440, 930];
  const rows = [
    ["deadlineMs", [[0, 1]], "the whole call, queue included; nothing extends it"],
    ["firstByteMs", [[0.1, 0.2]], "POST to headers; by default callMs"],
    [
      "callMs",
      [
        [0.1, 0.44],
        [0.66, 0.97],
      ],
      "while a stream is open; anew with each message of the call",
    ],
    [
      "idleMs",
      [
        [0.2, 0.44],
        [0.66, 0.97],
      ],
      "anew with each byte",
    ],
    ["recoveryMs", [[0.44, 0.66]], "while none is open, or it is suspect; full again with new data"],
    ["wait", [[0.44, 0.56]], "retry, Retry-After or backoff; not an outage after a polite close"],
    ["connectMs", [[0.56, 0.66]], "resume or ping to headers; doubled at each miss, up to idleMs"],
  ];
  const at = (part) => left + part * (right - left);
  const marks = [
    [0, "call"],
    [0.1, "sent"],
    [0.2, "headers"],
    [0.44, "cut"],
    [0.56, "GET"],
    [0.66, "resumed"],
    [0.97, "answer"],
  ];
  return picture(960, 440, "The clocks of a call that is cut once", [
    ...marks.map(([part, name]) => text(at(part), 24, name, "quiet", "middle")),
    ...marks.map(([part]) => `<path d="M${at(part)} 32 L${at(part)} 410" stroke-dasharray="2 4"/>`),
    ...rows.flatMap(([name, spans, line], i) => {
      const y = 44 + i * 52;
      const bars = spans.map(
        ([from, to]) =>
          `<rect x="${at(from)}" y="${y}" width="${at(to) - at(from)}" height="18" class="act"/>`,
      );
      return [text(20, y + 14, name, "name"), ...bars, text(20, y + 34, line, "quiet")];
    }),
  ]);
}

/** The pictures, by file name. */
export const pictures = {
  "ladder.svg": ladder,
  "house.svg": house,
  "clocks.svg": clocks(),
  "speed.svg": speed(),
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const docs = fileURLToPath(new URL("../../docs", import.meta.url));
  mkdirSync(docs, { recursive: true });
  for (const [name, drawn] of Object.entries(pictures)) writeFileSync(join(docs, name), drawn);
}
