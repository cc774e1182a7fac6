// What the pictures are drawn with.

const STYLE = `
  svg { --ink: #1f2328; --quiet: #59636e; --box: #f6f8fa; --edge: #818b98; --good: #1a7f37; --bad: #cf222e; --act: #0969da }
  @media (prefers-color-scheme: dark) {
    svg { --ink: #f0f6fc; --quiet: #9198a1; --box: #151b23; --edge: #656c76; --good: #3fb950; --bad: #f85149; --act: #4493f8 }
  }
  text { font: 14px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: var(--ink) }
  .name { font-weight: 600 }
  .quiet { fill: var(--quiet); font-size: 12.5px }
  rect { fill: var(--box); stroke: var(--edge); rx: 6px }
  path { fill: none; stroke: var(--quiet); stroke-width: 1.5 }
  .tip { fill: var(--quiet); stroke: none }
  .good { stroke: var(--good) } .good.tip { fill: var(--good); stroke: none } text.good { fill: var(--good); stroke: none }
  .bad { stroke: var(--bad) } .bad.tip { fill: var(--bad); stroke: none } text.bad { fill: var(--bad); stroke: none }
  .act { stroke: var(--act); stroke-width: 2 } text.act { fill: var(--act); stroke: none }
`;

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

/** A line of text. */
export function text(x, y, words, look = "", anchor = "start") {
  return `<text x="${x}" y="${y}" class="${look}" text-anchor="${anchor}">${escaped(words)}</text>`;
}

/** A box with a name and lines below it. */
export function box(x, y, width, height, [name, ...lines], look = "") {
  const rows = lines.map((line, i) => text(x + 12, y + 42 + i * 18, line, "quiet"));
  const rect = `<rect x="${x}" y="${y}" width="${width}" height="${height}" class="${look}"/>`;
  return [rect, text(x + 12, y + 23, name, "name"), ...rows].join("\n");
}

const tips = {
  right: (x, y) => `${x},${y} ${x - 9},${y - 5} ${x - 9},${y + 5}`,
  left: (x, y) => `${x},${y} ${x + 9},${y - 5} ${x + 9},${y + 5}`,
  down: (x, y) => `${x},${y} ${x - 5},${y - 9} ${x + 5},${y - 9}`,
  up: (x, y) => `${x},${y} ${x - 5},${y + 9} ${x + 5},${y + 9}`,
};

/** A line through these points, with a tip at its end. */
export function arrow(points, way, look = "") {
  const [x, y] = points.at(-1);
  const path = points.map(([px, py], i) => `${i === 0 ? "M" : "L"}${px} ${py}`).join(" ");
  return `<path d="${path}" class="${look}"/>\n<polygon points="${tips[way](x, y)}" class="tip ${look}"/>`;
}

/** A whole picture with its title. */
export function picture(width, height, title, parts) {
  const size = `viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"`;
  const open = `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img">`;
  return `${[open, `<title>${escaped(title)}</title>`, `<style>${STYLE}</style>`, ...parts, "</svg>"].join("\n")}\n`;
}
