// table.mjs [FAULT]: what becomes of each fault (or those whose name contains FAULT) through each client, as Markdown.
// With DROP_IN=official the clients use their own transports.
import { markdown } from "../matrix/report.mjs";
import { clients } from "./clients/all.mjs";
import { runFaults } from "./run.mjs";

process.on("unhandledRejection", (reason) => console.error("unhandled:", reason));
for (const era of ["legacy", "modern"]) {
  const columns = await Promise.all(
    clients
      .filter((client) => client.era === era)
      .map(async (client) => ({ name: client.name, played: await runFaults(client, process.argv[2]) })),
  );
  const faults = columns[0].played.map(({ fault }) => fault);
  const rows = columns.map(({ name, played }) => ({ name, rows: played.map(({ row }) => row) }));
  console.log(`${markdown(rows, faults)}\n`);
}
// Not all of the official transports let a process end.
process.exit(0);
