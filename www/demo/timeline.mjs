// Draws a call in the terminal: one line per thing that happened, each with the time and how far the call was.

const BAR = 16;
const CODES = { red: 31, green: 32, yellow: 33, cyan: 36, dim: 2, bold: 1 };
const CLEAR_LINE = "\r\x1b[2K";

export class Timeline {
  #out;
  #isLive;
  #hasColour;
  #startedAt;
  #done = 0;

  /** The moving line and colours are for a terminal; NO_COLOR turns the latter off. */
  constructor({ total, out = process.stdout, env = process.env }) {
    this.total = total;
    this.#out = out;
    this.#isLive = out.isTTY === true;
    this.#hasColour = this.#isLive && !env.NO_COLOR;
  }

  title(text) {
    this.#print(`\n${this.#paint("bold", text)}\n`);
  }

  /** The bar moves: in a terminal at once, elsewhere with the next line. */
  progress(at, done) {
    this.#done = done;
    if (this.#isLive) this.#out.write(`${CLEAR_LINE}${this.#head(at)}`);
  }

  line(at, colour, text) {
    this.#print(`${this.#head(at)}  ${this.#paint(colour, text)}`);
  }

  /** What it came to, as rows of a name and a value. */
  summary(colour, title, rows) {
    this.#print(`\n${this.#paint(colour, title)}`);
    const width = Math.max(...rows.map(([name]) => name.length));
    for (const [name, value] of rows) this.#print(`  ${this.#paint("dim", name.padEnd(width))}  ${value}`);
  }

  /** Time runs from the first event. */
  #head(at) {
    this.#startedAt ??= at;
    const seconds = `${((at - this.#startedAt) / 1000).toFixed(2)}s`.padStart(7);
    const filled = Math.round((BAR * this.#done) / this.total);
    const bar = this.#paint("cyan", "█".repeat(filled)) + this.#paint("dim", "░".repeat(BAR - filled));
    return `${this.#paint("dim", seconds)}  ${bar} ${`${this.#done}/${this.total}`.padStart(5)}`;
  }

  #paint(colour, text) {
    return this.#hasColour ? `\x1b[${CODES[colour]}m${text}\x1b[0m` : text;
  }

  #print(text) {
    this.#out.write(`${this.#isLive ? CLEAR_LINE : ""}${text}\n`);
  }
}
