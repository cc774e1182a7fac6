// Numbers of measurements.

/** CPU of this process since `from`, in milliseconds. */
export function cpuMs(from) {
  const { user, system } = process.cpuUsage(from);
  return (user + system) / 1_000;
}

/** The value below which a share of them lies; `undefined` of none. */
export function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

export const median = (values) => quantile(values, 0.5);
