// What a Client has sent and waits for.
import type { CallEvent } from "../api/events.js";
import type { ToolCallFailed } from "../api/failure.js";
import { observed } from "../base/promise.js";
import { timers } from "../base/timers.js";
import type { CallSink, ResultEvent } from "../call/record.js";
import type { Failure } from "../http/credentials.js";

/** What the messages of a Client's have in common. */
export interface Client {
  /** Hands a message over; false where its handler threw. */
  deliver(message: object): boolean;
  /** Whether it is a progress token that a call of the Client's waits for. */
  hasToken(token: unknown): boolean;
  /** What `send()` rejects with; the Client has been told of it. */
  rejection(event: ToolCallFailed, failure: Failure): unknown;
}

/** The outcome of one message of a Client's, as the promise of its `send()`. */
abstract class Pending implements CallSink {
  /** Settles with the outcome. */
  readonly done: Promise<void>;
  protected readonly client: Client;
  protected resolve!: () => void;
  protected reject!: (error: unknown) => void;

  constructor(client: Client) {
    this.client = client;
    this.done = observed(
      new Promise<void>((resolve, reject) => {
        this.resolve = resolve;
        this.reject = reject;
      }),
    );
  }

  /** It is handled when the Client's handler returned. */
  message(message: object): boolean {
    return this.client.deliver(message);
  }

  event(_event: CallEvent): void {}

  answered(_event: ResultEvent, message?: object): void {
    if (message !== undefined) this.client.deliver(message);
    this.resolve();
  }

  accepted(): void {
    this.resolve();
  }

  failed(event: ToolCallFailed, failure: Failure): void {
    try {
      this.reject(this.client.rejection(event, failure));
    } catch (thrown) {
      this.reject(thrown);
    }
  }
}

/** A notification, or the end of the session. */
export class PendingMessage extends Pending {}

/** What a request was sent with. */
export interface RequestSent {
  /** The Client's own id. */
  id: string | number;
  /** The id that it goes by first. */
  wireId: string | number;
  /** The progress is landfall's own, and kept from the Client. */
  ownProgress: boolean;
  /** Looks at the response before the Client does; gives what he is to have, or throws what `send()` is to reject with. */
  response(message: object, httpStatus: number | undefined): object;
  /** The stream of the request is gone for good, and not by the caller's wish. */
  onStreamEnd: (() => void) | undefined;
  /** It has its outcome. */
  onEnd(): void;
}

/** A request: `send()` stays pending until the Client has the response, or there will be none. */
export class PendingRequest extends Pending {
  readonly #request: RequestSent;

  constructor(client: Client, request: RequestSent) {
    super(client);
    this.#request = request;
  }

  override message(message: object): boolean {
    return this.#isOwnProgress(message) || super.message(message);
  }

  override answered(event: ResultEvent, message?: object, httpStatus?: number): void {
    const { id, response, onStreamEnd, onEnd } = this.#request;
    onEnd();
    // The SDKs handle a notification in a microtask, and forget the handler of a call's progress with its response.
    timers.queueMicrotask(() => {
      try {
        // It went under an id of landfall's.
        super.answered(event, response({ ...message, id }, httpStatus));
      } catch (error) {
        this.reject(error);
      }
      onStreamEnd?.();
    });
  }

  override failed(event: ToolCallFailed, failure: Failure): void {
    const { onStreamEnd, onEnd } = this.#request;
    onEnd();
    if (event.reason !== "cancelled" && event.reason !== "closed") onStreamEnd?.();
    super.failed(event, failure);
  }

  #isOwnProgress(message: object): boolean {
    if (!this.#request.ownProgress) return false;
    const { method, params } = message as { method?: string; params?: { progressToken?: unknown } };
    if (method !== "notifications/progress") return false;
    return !this.client.hasToken(params?.progressToken);
  }
}

interface Named {
  _meta?: Record<string, unknown> | null;
}

const subscriptionMember = "io.modelcontextprotocol/subscriptionId";

/**
 * A subscription. Its messages name the request that it was made by, under an id of landfall's, the same however often it
 * is made again: the Client knows it by its own.
 */
export class PendingSubscription extends PendingRequest {
  readonly #id: string | number;
  readonly #wireId: string | number;

  constructor(client: Client, request: RequestSent) {
    const { id, wireId, response } = request;
    super(client, {
      ...request,
      response: (message, httpStatus) => this.#ended(response(message, httpStatus)),
    });
    this.#id = id;
    this.#wireId = wireId;
  }

  override message(message: object): boolean {
    const { params } = message as { params?: Named };
    const named = this.#named(params);
    return super.message(named === params ? message : { ...message, params: named });
  }

  #ended(response: object): object {
    const { result } = response as { result?: Named };
    const named = this.#named(result);
    return named === result ? response : { ...response, result: named };
  }

  /** The same under the Client's own id, where it names this subscription by that of landfall's. */
  #named(given: Named | undefined): Named | undefined {
    const { _meta: meta } = given ?? {};
    if (meta === undefined || meta?.[subscriptionMember] !== this.#wireId) return given;
    return { ...given, _meta: { ...meta, [subscriptionMember]: this.#id } };
  }
}

/** A stream that is resumed by hand: `done` is settled as soon as it is open; a later failure is only told. */
export class PendingStream extends Pending {
  override event(event: CallEvent): void {
    if (event.type === "open" && event.status < 300) this.resolve();
  }
}
