// The time, and what happens later: tests bring their own.
export const realClock = {
  now: () => Date.now(),
  /** Runs `late` after so many milliseconds; returns how to stop that. */
  after(ms, late) {
    const timer = setTimeout(late, Math.min(ms, 2 ** 31 - 1));
    return () => clearTimeout(timer);
  },
};
