// The results as tables.

const KIB = 1 << 10;
const MIB = 1 << 20;

/** Rows of cells as Markdown, the first row being the head; numbers stand at the right. */
function table(head, rows) {
  const all = [head, ...rows].map((row) => row.map(String));
  const widths = head.map((_, i) => Math.max(...all.map((row) => row[i].length)));
  const line = (row) =>
    `| ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join(" | ")} |`;
  const rule = `|${widths.map((width, i) => (i === 0 ? "-".repeat(width + 2) : `${"-".repeat(width + 1)}:`)).join("|")}|`;
  return [line(all[0]), rule, ...all.slice(1).map(line)].join("\n");
}

const ms = (value) => (value === undefined ? "-" : value.toFixed(0));
const fine = (value) => (value === undefined ? "-" : value.toFixed(1));
const ratio = (value) => value.toFixed(2);
const mib = (bytes) => (bytes / MIB).toFixed(1);
const beyond = (run, calm, name) => (run[name] === undefined ? "-" : ms(run[name] - calm[name]));

/** What is measured of a storm, by its name. */
const STORM = {
  "calls a second": ({ storm }) => fine(storm.perSecond),
  answered: ({ storm }) => storm.answered,
  "failed, with a reason": ({ storm }) => storm.calls - storm.answered - storm.unsettled,
  unsettled: ({ storm, calm }) => storm.unsettled + calm.unsettled,
  "ran twice, or against the outcome": ({ wrongRuns }) => wrongRuns.length,
  "added ms, p50": ({ storm, calm }) => beyond(storm, calm, "addedP50"),
  "added ms, p99": ({ storm, calm }) => beyond(storm, calm, "addedP99"),
  "the same of calls that nothing befell, p50": ({ spared, calm }) => beyond(spared, calm, "addedP50"),
  "the same, p99": ({ spared, calm }) => beyond(spared, calm, "addedP99"),
  "CPU per event, us": ({ storm }) => fine(storm.cpuPerEventUs),
  "the same without faults": ({ calm }) => fine(calm.cpuPerEventUs),
  "heap at the beginning and the end, MiB": ({ memory }) =>
    `${mib(memory.begin.heap)}, ${mib(memory.end.heap)}`,
  "heap at the quarters, MiB": ({ memory }) => memory.during.map(({ heap }) => mib(heap)).join(", "),
  "wasm at the quarters and the end, MiB": ({ memory }) =>
    [...memory.during, memory.end].map(({ wasm }) => mib(wasm)).join(", "),
  "instances, sockets, connections when closed": ({ memory: { closed }, connections }) =>
    `${closed.instances}, ${closed.sockets}, ${connections}`,
};

function stormTables({ storm, load }) {
  const { calls, atOnce, seconds, seed } = load;
  const names = storm.map(({ client }) => client);
  const rows = Object.entries(STORM).map(([name, of]) => [name, ...storm.map(of)]);
  const faults = Object.entries(storm[0].faults).map(([fault, ours]) => [
    fault,
    ...storm.flatMap(({ faults }) => endings(faults[fault] ?? ours)),
  ]);
  const head = ["fault", ...names.flatMap((name) => [name, "ms, p50", "p99"])];
  return [
    `${calls} calls, ${atOnce} at once, ${seconds} s, seed ${seed}`,
    table(["", ...names], rows),
    table(head, faults),
  ];
}

/** How the calls ended that met a fault, and what those took longer that were answered. */
function endings({ addedP50, addedP99, ...counts }) {
  const told = Object.entries(counts).map(([name, count]) => `${count} ${name}`);
  return [told.join(", "), ms(addedP50), ms(addedP99)];
}

function linearTable({ linear }) {
  const sizes = Object.keys(linear[0].perByteNs);
  const rows = linear.map((each) => [
    each.client,
    ...sizes.map((size) => fine(each.perByteNs[size])),
    ratio(each.ratio),
  ]);
  const head = ["CPU per byte, ns", ...sizes.map((size) => `${size} MiB`), `${sizes.at(-1)} to ${sizes[0]}`];
  return ["One event in chunks of 64 bytes", table(head, rows)];
}

function concurrentTable({ concurrent }) {
  const rows = concurrent.map(({ client, perEventUs, ratios }) => [
    client,
    fine(perEventUs.one),
    ...[fine(perEventUs.spread), ratio(ratios.spread)],
    ...[fine(perEventUs.among), ratio(ratios.among)],
  ]);
  const head = [
    "CPU per event, us",
    "1 stream",
    "each on another",
    "to 1 stream",
    "all on one",
    "to 1 stream",
  ];
  return [`${concurrent[0].streams} streams open`, table(head, rows)];
}

function resumesTable({ resumes }) {
  const rows = resumes
    .flat()
    .map(({ client, how, retryMs, p50, p90 }) => [
      `${client}, ${how}, retry: ${retryMs}`,
      ratio(p50),
      ratio(p90),
    ]);
  return ["From a cut to the GET, beyond the retry", table(["ms", "p50", "p90"], rows)];
}

function idleTable({ idle }) {
  const rows = idle.map(({ client, heap, wasm }) => [client, fine(heap / KIB), fine(wasm / KIB)]);
  return [`${idle[0].sessions} idle sessions`, table(["KiB for each", "heap", "wasm"], rows)];
}

/** The text of each part. */
export const TABLES = Object.fromEntries(
  Object.entries({
    storm: stormTables,
    linear: linearTable,
    concurrent: concurrentTable,
    resumes: resumesTable,
    idle: idleTable,
  }).map(([part, of]) => [part, (results) => of(results).join("\n\n")]),
);
