// What was played, as a Markdown table, and what of it is not as expected.

const seconds = (ms) => `${(ms / 1_000).toFixed(1)} s`;

const groupsOf = (rows) =>
  [...new Set(rows.map(({ scenario }) => scenario))].map((scenario) => ({
    name: scenario.name,
    rows: rows.filter((row) => row.scenario === scenario),
  }));

/** The three clients in one cell where they fared alike. */
function cell(rows) {
  const times = rows.map(({ ms }) => ms);
  const took = `${seconds(Math.min(...times))} to ${seconds(Math.max(...times))}`;
  const told = [...new Set(rows.map(({ lines }) => lines.join("; ")))];
  if (told.length === 1) return `${told[0]} (${took})`;
  return `${rows.map(({ client, lines }) => `${client.name}: ${lines.join("; ")}`).join("<br>")} (${took})`;
}

/** `results`: `{ kind, rows }` of run.mjs. A line per server and scenario: outcomes, runs, seconds. */
export function markdown(results) {
  const lines = results.flatMap(({ kind, rows }) =>
    groupsOf(rows).map(({ name, rows }) => [kind.name, name, cell(rows)]),
  );
  const table = [["server", "scenario", "what came of it"], ["---", "---", "---"], ...lines];
  return table.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

export function differences(results) {
  return results.flatMap(({ kind, rows }) =>
    rows.flatMap(({ scenario, client, lines, expected }) => {
      if (lines.join("\n") === expected.join("\n")) return [];
      return [
        `${kind.name}, ${scenario.name}, ${client.name}: ${lines.join("; ")}\n    not ${expected.join("; ")}`,
      ];
    }),
  );
}
