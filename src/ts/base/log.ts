// The user's logger, made safe; the console where there is none.
import type { CallEvent, SessionEvent } from "../api/events.js";
import type { ConnectOptions } from "../api/options.js";
import { ignored } from "./promise.js";
import { line, type ServerText } from "./server-text.js";
import { textOf } from "./thrown.js";

type Logger = Exclude<ConnectOptions["logger"], false | undefined>;
type Level = "debug" | "info" | "warn" | "error";

const levels: { [type: string]: Level } = {
  warning: "warn",
  tool_call_failed: "warn",
  event_skipped: "warn",
  gap: "warn",
  disconnected: "info",
  reconnecting: "info",
  resumed: "info",
  reissued: "info",
  suspect: "info",
  session_replaced: "info",
  state: "info",
};

// What a server or a caller put into an event stays out of logs.
const payload = new Set([
  ...["type", "message", "result", "error", "progress", "total", "diagnostics"],
  // Whoever has the id has the task.
  ...["taskId", "statusMessage"],
]);

// What nobody asked for is kept to what somebody should know.
const onConsole: Logger = {
  // biome-ignore lint/suspicious/noConsole: this is its one place
  warn: (text) => console.warn(text),
  // biome-ignore lint/suspicious/noConsole: and this
  error: (text) => console.error(text),
};

/**
 * The user's logger, made safe: what it lacks is skipped, and what it throws is nobody's business. Without one, warnings
 * and what threw go to the console; with `false`, nothing does.
 */
export class Log {
  readonly #logger: Logger | undefined;
  readonly #isUsers: boolean;
  readonly #serverText: ServerText;

  constructor(logger: Logger | false | undefined, serverText: ServerText) {
    this.#isUsers = logger !== undefined;
    this.#logger = logger === undefined ? onConsole : logger || undefined;
    this.#serverText = serverText;
  }

  /** Writes one line, without what we send to the server. */
  write(level: Level, message: string, data?: object): void {
    if (this.#logger === undefined) return;
    const text = line(this.#serverText.redact(`landfall: ${message}`));
    // A logger that fails, at once or later, has nowhere to be reported.
    ignored(() => this.#logger?.[level]?.(text, data));
  }

  /** Whether somebody reads what is written at the level `debug`. */
  get isVerbose(): boolean {
    if (!this.#isUsers || this.#logger === undefined) return false;
    try {
      return this.#logger.debug !== undefined;
    } catch {
      // It is asked again when there is something to write.
      return true;
    }
  }

  /** Writes that something of the user's threw. */
  threw(what: string, thrown: unknown): void {
    this.write("error", `${what} threw: ${textOf(thrown)}`);
  }

  /** Writes an event without its payload. */
  event(event: CallEvent | SessionEvent): void {
    // What becomes of a call its caller knows.
    if (this.#logger === undefined || (!this.#isUsers && event.type !== "warning")) return;
    const data: Record<string, unknown> = {};
    for (const [key, value] of Object.entries(event)) {
      if (!payload.has(key)) data[key] = value;
    }
    const failed = event.type === "tool_call_failed" || event.type === "warning";
    const text = failed ? `${event.type}: ${event.message}` : event.type;
    this.write(levels[event.type] ?? "debug", text, data);
  }
}
