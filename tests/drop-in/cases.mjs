// Tests that several subjects have to pass: clients, transports.
import { describe, test } from "node:test";
import { steady } from "../support/steady.mjs";
import { Stage } from "./stage.mjs";

/**
 * Tests that several subjects have to pass, all side by side. `it(name, run)` or `it(name, options, run)`,
 * where options may be a function of the subject, and `run` gets subject and stage; `runFor(subjects)` once all are
 * there. Their clocks are real: what fails on a starved machine runs again, on a stage of its own.
 */
export function cases() {
  const list = [];
  const all = (subject) => {
    for (const { name, run, options } of list) {
      test(name, typeof options === "function" ? options(subject) : options, (t) =>
        steady(`${subject.name}: ${name}`, () => run(subject, new Stage(t))),
      );
    }
  };
  return {
    it: (name, ...rest) => list.push({ name, run: rest.at(-1), options: rest.length > 1 ? rest[0] : {} }),
    runFor(subjects, title = "for each") {
      describe(title, { concurrency: true }, () => {
        for (const subject of subjects) describe(subject.name, { concurrency: true }, () => all(subject));
      });
    },
  };
}
