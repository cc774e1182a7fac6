// Reads the body of one response.
import { macrotask } from "../base/promise.js";
import { codeOf, textOf } from "../base/thrown.js";
import { timers } from "../base/timers.js";
import { type BodyOwner, cancel, type Source, sourceOf } from "./source.js";

/** Where the bytes of one body go. Each call may end, pause or resume the pump it comes from. */
export interface BodySink {
  push(bytes: Uint8Array): void;
  end(): void;
  fail(message: string, code: string, thrown: unknown): void;
}

// A chunk is copied into the module's memory, which never shrinks: a server's 100 MB chunk goes in by pieces.
const pieceBytes = 256 * 1024;

// A body that always has more at hand is read in microtasks alone: after this long, timers and the network get a turn.
const burstMs = 10;
// The same in pieces, for a Worker's clock stands still meanwhile.
const burstPieces = 1_000;

/** Sees to it that bodies which always have more at hand leave a turn to everything else: one for all that share it. */
export class Breath {
  #since = 0;
  #pieces = 0;
  #turn: Promise<void> | undefined;

  /** A body begins, which the network brought. */
  begin(): void {
    this.#since = timers.now();
    this.#pieces = 0;
  }

  /** One more piece came: the turn to wait for, where one is due. */
  due(): Promise<void> | undefined {
    this.#pieces += 1;
    if (this.#pieces <= burstPieces && timers.now() - this.#since <= burstMs) return undefined;
    this.#turn ??= macrotask().then(() => {
      this.#turn = undefined;
      this.begin();
    });
    return this.#turn;
  }
}

/**
 * Reads one body: one `read()` outstanding, none while paused, and never a word after {@link BodyPump.stop}, for what
 * a reader says after our own abort (an error, or a clean end in some runtimes) tells nothing of the server.
 */
export class BodyPump {
  readonly #response: BodyOwner;
  readonly #sink: BodySink;
  #source: Source | undefined;
  #started = false;
  #stopped = false;
  #paused = false;
  readonly #breath: Breath;
  #wake: (() => void) | undefined;

  constructor(response: BodyOwner, sink: BodySink, breath = new Breath()) {
    this.#response = response;
    this.#sink = sink;
    this.#breath = breath;
  }

  /** Starts reading, or goes on after a pause. */
  resume(): void {
    this.#paused = false;
    this.#wake?.();
    if (this.#started || this.#stopped) return;
    this.#started = true;
    void this.#run();
  }

  /** Holds back what is read from now on. */
  pause(): void {
    this.#paused = true;
  }

  /** Ends it for good: the sink hears no more, and the body is cancelled and released. */
  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#wake?.();
    // A running pump releases its reader itself: in workerd that throws while a read is pending.
    if (this.#source !== undefined) this.#source.cancel();
    else if (!this.#started) cancel(this.#response.body);
  }

  async #run(): Promise<void> {
    try {
      await this.#read();
    } catch (thrown) {
      this.#source?.cancel();
      this.#finish(() => this.#sink.fail(textOf(thrown), codeOf(thrown), thrown));
    } finally {
      this.#source?.release();
    }
  }

  async #read(): Promise<void> {
    // What a fetch of the user's gives may be no stream at all: then this throws, and the exchange fails.
    const source = sourceOf(this.#response);
    this.#source = source;
    this.#breath.begin();
    for (;;) {
      const { done, value } = await source.read();
      if (this.#stopped) return;
      if (done) break;
      const chunk = bytesOf(value);
      // As a rule nothing is waited for but the next read.
      if (this.#paused || chunk.length > pieceBytes) await this.#inPieces(chunk);
      else if (chunk.length > 0) this.#sink.push(chunk);
      const turn = this.#stopped ? undefined : this.#breath.due();
      if (turn !== undefined) await turn;
      if (this.#paused) await this.#held();
      if (this.#stopped) return;
    }
    await this.#held();
    this.#finish(() => this.#sink.end());
  }

  async #inPieces(chunk: Uint8Array): Promise<void> {
    for (let at = 0; at < chunk.length; at += pieceBytes) {
      if (this.#paused) await this.#held();
      if (this.#stopped) return;
      this.#sink.push(chunk.subarray(at, at + pieceBytes));
      const turn = this.#stopped ? undefined : this.#breath.due();
      if (turn !== undefined) await turn;
    }
  }

  async #held(): Promise<void> {
    while (this.#paused && !this.#stopped) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Says the last word, unless it was stopped before. */
  #finish(last: () => void): void {
    if (this.#stopped) return;
    this.#stopped = true;
    last();
  }
}

function bytesOf(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  throw new TypeError("the body gave a chunk that is no bytes");
}
