// Rows as a Markdown table, and how landfall's rows differ from what is expected of them.

/** The most resumes that any of the faults may make landfall send. */
const MOST_RESUMES = 12;

const seconds = (ms) => `${(ms / 1_000).toFixed(1)} s`;

function outcome({ outcome, reason, ms }) {
  switch (outcome) {
    case "answer":
      return `answer, ${seconds(ms)}`;
    case "error":
      return `the server's error, ${seconds(ms)}`;
    case "timeout":
      return `timeout, ${seconds(ms)}`;
    case "pending":
      return `pending after ${seconds(ms)}`;
    default:
      return `\`${reason}\`, ${seconds(ms)}`;
  }
}

function remarks({ executions, resumesAfter, comebackMs }, { hint }) {
  return [
    executions === 1 ? "" : `tool ran ${executions} times`,
    comebackMs === undefined ? "" : `came back after ${Math.round(comebackMs)} ms, not ${hint.text}`,
    resumesAfter === 0 ? "" : `then ${resumesAfter} more ${resumesAfter === 1 ? "GET" : "GETs"}`,
  ].filter(Boolean);
}

const cell = (row, fault) => [outcome(row), ...remarks(row, fault)].join("; ");

/** `columns`: `{ name, rows }`, rows in the order of the faults. A star marks faults with shortened clocks. */
export function markdown(columns, faults) {
  const lines = faults.map((fault, i) => [
    fault.timeouts ? `${fault.name} \\*` : fault.name,
    ...columns.map(({ rows }) => cell(rows[i], fault)),
  ]);
  const table = [
    ["fault", ...columns.map(({ name }) => name)],
    ["---", ...columns.map(() => "---")],
    ...lines,
  ];
  return table.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** What is wrong with a row of landfall's; empty if nothing is. */
export function differences(row, { expected }) {
  const { outcome, reason, atLeastMs, atMostMs, executions = 1 } = expected;
  const verdict = [row.outcome, row.reason].filter(Boolean).join(" ");
  const wanted = [outcome, reason].filter(Boolean).join(" ");
  return [
    verdict === wanted ? "" : `${verdict}, not ${wanted}`,
    row.ms <= atMostMs ? "" : `after ${row.ms} ms, which is more than ${atMostMs}`,
    row.ms >= atLeastMs ? "" : `after ${row.ms} ms, which is less than ${atLeastMs}`,
    row.executions === executions ? "" : `the tool ran ${row.executions} times, not ${executions}`,
    row.comebackMs === undefined ? "" : `it came back after ${row.comebackMs} ms, before it might`,
    row.resumes <= MOST_RESUMES ? "" : `${row.resumes} resumes`,
    row.resumesAfter === 0 ? "" : `${row.resumesAfter} resumes after the outcome`,
  ].filter(Boolean);
}
