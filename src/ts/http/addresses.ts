// Which addresses a server may send us to.

/** Whether a host is this machine, by its name or a literal address. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/\.$/, "");
  if (name === "localhost" || name.endsWith(".localhost") || name === "[::1]") return true;
  return (fourOf(name) ?? [])[0] === 127;
}

/** Whether a host is this machine or its network, by its name or a literal address. */
function isInside(host: string): boolean {
  if (isLoopback(host)) return true;
  const four = fourOf(host);
  if (four === undefined) return host === "[::]" || /^\[(f[cd]|fe[89ab])/.test(host);
  const [a = 0, b = 0] = four;
  const isShared = (a === 100 && b >= 64 && b < 128) || (a === 172 && b >= 16 && b < 32);
  return isShared || a === 0 || a === 10 || (a === 169 && b === 254) || (a === 192 && b === 168);
}

/** The bytes of a literal address of IPv4, also in IPv6's clothes. A URL has written it in the one way there is. */
function fourOf(host: string): number[] | undefined {
  if (/^\d+(\.\d+){3}\.?$/.test(host)) return host.split(".").slice(0, 4).map(Number);
  const mapped = /^\[::(?:ffff:)?([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/.exec(host);
  if (mapped === null) return undefined;
  return mapped.slice(1).flatMap((part) => {
    const number = Number.parseInt(part, 16);
    return [number >> 8, number & 255];
  });
}

/** Whether what is sent there in the clear passes a network. */
export function isExposed(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && !isLoopback(hostname);
}

/**
 * Throws where a server that is reached by https names an address in the clear, or one inside our own network: the one
 * could be read by others, the other is nobody's to ask us for. `what` names it. A server in that network may.
 */
export function refuseAddress(what: string, target: URL, endpoint: URL): void {
  if (endpoint.protocol !== "https:" || isInside(endpoint.hostname)) return;
  const place = `${target.protocol}//${target.host}`;
  if (target.protocol !== "https:")
    throw new Error(`${what} is refused: ${place} is not https, as the server is`);
  if (isInside(target.hostname))
    throw new Error(`${what} is refused: ${place} is an address of this machine or its own network`);
}
