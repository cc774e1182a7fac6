// A clock as messages name it.

/** Its option, its number, and whose that is where it is known: as the core writes it. */
export function clockText(name: string, ms: number, whose?: string): string {
  const number = String(Math.floor(ms)).replaceAll(/\B(?=(\d{3})+$)/g, " ");
  return `${name}, ${number} ms${whose === undefined ? "" : ` (${whose})`}`;
}
