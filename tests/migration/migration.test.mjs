// One line swapped: each program gets from our transport what it gets from the SDK's own, where nothing is broken.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { PROGRAMS } from "./programs.mjs";
import { SDKS } from "./sdks.mjs";
import { SERVERS } from "./servers.mjs";
import { SUBJECT, transportClass } from "./transports.mjs";

/** What each must have got with either: else they would agree on nothing. */
const ENDS = {
  tools: ({ result }) => assert.equal(result, "5"),
  streaming: ({ result }) => assert.equal(result, "5 lines"),
  polling: ({ result }) => assert.equal(result, "6 items processed"),
  elicitation: ({ result }) => assert.equal(result, "green"),
  sampling: ({ result }) => assert.equal(result, "in short"),
  roots: ({ result }) => assert.equal(result, "file:///here file:///there"),
  parallel: (calls) => {
    assert.equal(calls.length, 10);
    for (const { seen } of calls) assert.deepEqual(seen, [1, 2, 3, 4, 5]);
  },
  listening: (heard) => assert.deepEqual(heard, { before: true, after: true }),
};

/** A replay may bring what a client already has; the official transports hand it out again, ours does not. */
const withoutRepeats = ({ seen, ...rest }) => ({ seen: [...new Set(seen)], ...rest });

const unhandled = [];
const note = (thrown) => unhandled.push(thrown);
process.on("unhandledRejection", note).on("uncaughtException", note);
after(() => assert.deepEqual(unhandled, []));

for (const { name, isModern, oneAtATime, start } of SERVERS) {
  describe(`${name} server`, { concurrency: oneAtATime ? 1 : 4, timeout: 60_000 }, () => {
    let server;
    before(async () => {
      server = await start();
    });
    after(() => server?.stop());

    for (const sdk of SDKS.filter(({ needsModern }) => isModern || !needsModern)) {
      for (const [program, run] of Object.entries(PROGRAMS)) {
        test(`${sdk.name}: ${program}`, async () => {
          const over = async (transport, whose) => {
            const Transport = await transportClass(transport, sdk.sdk);
            const open = () => new Transport(new URL(server.url));
            const seen = await run(sdk, open, { key: `${whose} ${sdk.name} ${program}` });
            return transport === "official" && program === "polling" ? withoutRepeats(seen) : seen;
          };
          const theirs = await over("official", "theirs");
          const ours = await over(SUBJECT, "ours");
          ENDS[program](theirs);
          assert.deepEqual(ours, theirs);
        });
      }
    }
  });
}
