// A clock that never goes back.

/**
 * A clock in epoch milliseconds that never goes back: the wall clock is read once, at the first use, and from there on
 * the monotonic one counts, so that a corrected wall clock fires or delays no timer.
 */
export function createClock(): () => number {
  let origin: number | undefined;
  let last = 0;
  return () => {
    const elapsed = performance.now();
    origin ??= Date.now() - elapsed;
    last = Math.max(last, origin + elapsed);
    return last;
  };
}
