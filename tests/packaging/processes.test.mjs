// The packed package in each runtime that runs a program.
import { describe, test } from "node:test";
import { PROCESSES, program } from "./cases.mjs";
import { run } from "./tools.mjs";
import { workshop } from "./workshop.mjs";

const shop = workshop();

describe("a call that is cut makes landfall", { concurrency: 2 }, () => {
  for (const { name, how, entries, command, extension, skip } of PROCESSES) {
    for (const entry of entries) {
      test(`in ${name}, which has ${how} of ${entry}`, { skip }, async () => {
        const folder = await shop.package.project();
        const key = `${name} ${how} ${entry}`;
        const file = `${program("program", entry)}.${extension}`;
        const told = await run([...command, file, shop.server.url, key], folder);
        shop.assertCarried(key, JSON.parse(told));
      });
    }
  }
});
