// What a connection has of its session, which lives longer than it.
import type { CallEvent, SessionEvent } from "../api/events.js";
import type { Handling } from "../call/events.js";
import type { Uncounted } from "../call/metrics.js";
import type { OutcomeResolver } from "../call/outcome-resolver.js";
import type { SessionFacts } from "../core/protocol.js";
import type { Settings } from "../options/settings.js";
import type { SessionInfo } from "../options/state.js";
import type { RequestTaker } from "./requests.js";
import type { ToolHeaders } from "./tool-headers.js";

/** What a connection has of its session, and whom it tells: landfall's own session, or the Client of an SDK. */
export interface Owner {
  readonly settings: Settings;
  readonly clock: () => number;
  readonly outcomes: OutcomeResolver;
  readonly uncounted: Uncounted;
  /** What the server's tools declare of headers. */
  readonly tools: ToolHeaders;
  /** Takes what the server asks, and answers by `answer`. */
  requests(answer: (body: string) => void): RequestTaker;
  /** Told a message of the server's that belongs to no call, before its event. */
  heard(message: object): void;
  /** Somebody hears the events of messages and progress, or nobody, and then they need not be told. */
  readonly hearsMessages: boolean;
  /** Told every event in order. Who is to handle one that is to be handled shares its acks. */
  emit(event: CallEvent | SessionEvent, handling?: Handling): void;
  /** The session stands, for the first time or again. */
  ready(info: SessionInfo): void;
  /** The provider of credentials failed for a message of landfall's own, which nobody waits for. */
  denied(thrown: unknown): void;
}

/** Who keeps what is known of the server's session from one connection to the next. */
export interface FactsKeeper {
  facts: SessionFacts | undefined;
}
