// Notifications and progress on their way to whom they are for.
import { isObject } from "../base/json.js";
import { messageEvent } from "../call/events.js";
import { GapJudge } from "../call/gaps.js";
import type { CallRecord } from "../call/record.js";
import type { MessagesOutput } from "../core/protocol.js";
import type { Owner } from "./owner.js";

/** The calls of a connection, as far as their messages concern them. */
export interface Calls {
  /** The call of that number, as long as it has no outcome. */
  recordOf(call: number): CallRecord | undefined;
  /** Tells the core whether an event was handled, where it still wants to know. */
  report(call: number, key: number, ok: boolean): void;
  /** The application found a gap: what that means, the core says. */
  foundGap(call: number): void;
  /** The engine could not parse what the core had found well-formed. */
  unparsed(): void;
  /** A throw of ours ends the call that it befell, and nothing else. */
  failedAt(
    output: MessagesOutput,
    thrown: unknown,
    call: number | undefined,
    record: CallRecord | undefined,
  ): void;
}

/** Delivers what comes by the thousand: nothing is built that nobody takes. */
export class Delivery {
  readonly #owner: Owner;
  readonly #calls: Calls;
  readonly #gaps: GapJudge;

  constructor(owner: Owner, calls: Calls) {
    this.#owner = owner;
    this.#calls = calls;
    this.#gaps = new GapJudge(owner.settings);
  }

  /** Messages in a row. What one of them meets with hurts no other but those of its call. */
  deliver(run: MessagesOutput): void {
    const { call, among, index, count, firstKey } = run;
    for (let n = 0; n < count; n += 1) {
      const record = call === undefined ? undefined : this.#calls.recordOf(call);
      try {
        this.#message(run, record, among[index + n], firstKey === 0 ? 0 : firstKey + n);
      } catch (thrown) {
        this.#calls.failedAt(run, thrown, call, record);
      }
    }
  }

  #message(run: MessagesOutput, record: CallRecord | undefined, message: unknown, key: number): void {
    const { call, at, seam } = run;
    if (!isObject(message)) {
      this.#calls.unparsed();
      if (call !== undefined) this.#calls.report(call, key, false);
    } else if (call === undefined) {
      this.#owner.heard(message);
      if (this.#owner.hearsMessages) this.#owner.emit({ at, type: "message", message: message as never });
    } else if (record !== undefined) {
      if (this.#gaps.finds(record, message.params, seam)) this.#calls.foundGap(call);
      if (record.isSettled) return;
      if (record.takesMessages) this.#pass(run, call, record, message, key);
      else this.#handOut(run, record, message, key);
    }
  }

  /** Hands a message on as it came: it is handled at once, or failed. */
  #pass(run: MessagesOutput, call: number, record: CallRecord, message: object, key: number): void {
    const ok = record.message(run.at, message);
    if (this.#owner.hearsMessages) this.#owner.emit(messageEvent(run, record.origin.id, message));
    this.#calls.report(call, key, ok);
  }

  /** Hands a message out as an event: it is handled when all who take it are done with it. */
  #handOut(run: MessagesOutput, record: CallRecord, message: object, key: number): void {
    const event = messageEvent(run, record.origin.id, message);
    const { acks } = record;
    acks.begin(key);
    record.event(event, key === 0 ? undefined : acks);
    if (this.#owner.hearsMessages) this.#owner.emit(event, key === 0 ? undefined : record);
    acks.end();
  }
}
