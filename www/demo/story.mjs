// What the demo's server does to the call: steps for the fault server (tests/server/README.md).

export const ITEMS = 24;
const ITEM_MS = 90;

const item = (n) => [{ wait: ITEM_MS }, { progress: n, total: ITEMS, message: `item ${n}` }];
const items = (from, to) => Array.from({ length: to - from + 1 }, (_, index) => item(from + index)).flat();
/** What was sent before is read by then: the picture is the same each time. */
const settle = { wait: 30 };

/** Items that are made while nobody is connected: they wait in the server's event store. */
const away = (from, to) => [...items(from, to), { awaitResume: true }];

export const STEPS = [
  { prime: true },
  ...items(1, 4),
  { message: "checkpoint: I close the stream and work on" },
  { close: true, retry: 400 },
  ...away(5, 7),
  ...items(8, 9),
  settle,
  { replayFrom: 8 },
  { cut: "fin" },
  ...away(10, 12),
  ...items(13, 14),
  settle,
  { refuseResume: { status: 503, body: "busy" } },
  { cut: "rst" },
  ...away(15, 16),
  ...items(17, 18),
  settle,
  { cut: "inside" },
  ...away(19, 20),
  { message: "checkpoint: once more" },
  { close: true, retry: 250 },
  ...away(21, 21),
  settle,
  { stall: true },
  ...away(22, 23),
  ...items(24, 24),
  { result: { content: [{ type: "text", text: `${ITEMS} items processed` }] } },
];

export const MESSAGES = STEPS.flatMap(({ message, progress }) =>
  message !== undefined && progress === undefined ? [message] : [],
);
