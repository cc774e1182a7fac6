import { describe, test } from "node:test";

/**
 * Tests that several subjects have to pass, the tests of one side by side. `it(name, run)` or `it(name, options, run)`,
 * where options may be a function of the subject; `runFor(subjects)` once all are there.
 */
export function cases() {
  const list = [];
  return {
    it: (name, ...rest) => list.push({ name, run: rest.at(-1), options: rest.length > 1 ? rest[0] : {} }),
    runFor(subjects) {
      for (const subject of subjects) {
        describe(subject.name, { concurrency: true }, () => {
          for (const { name, run, options } of list) {
            const given = typeof options === "function" ? options(subject) : options;
            test(name, given, () => run(subject));
          }
        });
      }
    },
  };
}
