// Text of a server's, made fit for a message, a log or an event. The core does the same by proto/server_text.rs.

/** So many characters of it are shown. */
const mostShown = 200;
// Shorter ones are in many a text by chance.
const leastSecret = 8;
const mostSecrets = 64;
// What is further back is not shown, whatever is taken out before it.
const mostRead = 65_536;
const mark = "[redacted]";

/** What we sent to the server and nobody else is to read, and the one way to show what the server says. */
export class ServerText {
  #secrets: string[] = [];

  /** Keeps what is secret of a header, and gives it. Of many that come by and by the oldest is forgotten. */
  learn(name: string, value: string): string[] {
    const forms = [...new Set(formsOf(name, value))].filter((each) => each.length >= leastSecret);
    const fresh = forms.filter((each) => !this.#secrets.includes(each));
    if (fresh.length > 0) this.#secrets = [...this.#secrets, ...fresh].slice(-mostSecrets);
    return forms;
  }

  /** All that is kept. */
  get secrets(): readonly string[] {
    return this.#secrets;
  }

  /** The whole text, without what we sent. */
  redact(text: string): string {
    const longestFirst = [...this.#secrets].sort((one, other) => other.length - one.length);
    const redacted = longestFirst.reduce((left, secret) => left.replaceAll(secret, mark), text);
    // It may end in the middle of one.
    const tail = longestFirst.find((secret) => endsWithin(redacted, secret) > 0);
    return tail === undefined ? redacted : redacted.slice(0, -endsWithin(redacted, tail)) + mark;
  }

  /** One line of it: without control characters, without what we sent, and short. */
  fit(text: string): string {
    return short(this.redact(line(text.slice(0, mostRead))));
  }
}

/** A name that the caller gave, fit for a message. */
export function fitName(name: string): string {
  return short(line(name.slice(0, mostRead)));
}

function short(text: string): string {
  return [...text].slice(0, mostShown).join("");
}

/** The text as one line: no control character of it reaches a terminal. */
export function line(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, " ");
}

function endsWithin(text: string, secret: string): number {
  for (let length = Math.min(secret.length - 1, text.length); length >= leastSecret; length -= 1)
    if (text.endsWith(secret.slice(0, length))) return length;
  return 0;
}

/** A value as it may come back: the credentials without their scheme, the values of cookies, and as in a URL. */
function formsOf(name: string, value: string): string[] {
  const parts = [value];
  if (name === "authorization" || name === "proxy-authorization") parts.push(value.replace(/^\S+\s+/, ""));
  if (name === "cookie")
    for (const each of value.split(";")) parts.push(each.slice(each.indexOf("=") + 1).trim());
  return parts.flatMap((part) => [part, inUrl(part)]);
}

function inUrl(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    return text;
  }
}
