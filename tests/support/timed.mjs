// A test whose clocks are real.
import { test } from "node:test";
import { steady } from "./steady.mjs";

/** A test that, where it fails on a starved machine, says so and runs again. */
export const timed = (name, run) => test(name, (t) => steady(name, () => run(t)));
