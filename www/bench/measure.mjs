// Rivals in turn, round by round, so that a machine that is busy for a while is so for all of them.

export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * Runs each of `runs` (by name) once a round, beginning with another one in each; `cost` gives what one took. The first
 * `warm` rounds are not counted. Gives the samples of each by name, those of one round at the same place.
 */
export async function interleave(runs, { rounds, warm, cost }) {
  const names = Object.keys(runs);
  const samples = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 0; round < warm + rounds; round += 1) {
    for (let n = 0; n < names.length; n += 1) {
      const name = names[(n + round) % names.length];
      const took = await cost(runs[name], name);
      if (round >= warm) samples[name].push(took);
    }
  }
  return samples;
}

/** The median of the ratios of each round, and the middle half of them. */
export function ratio(ours, theirs) {
  const each = ours.map((value, n) => value / theirs[n]);
  const sorted = [...each].sort((a, b) => a - b);
  const at = (part) => sorted[Math.round(part * (sorted.length - 1))];
  return { median: median(each), low: at(0.25), high: at(0.75) };
}
