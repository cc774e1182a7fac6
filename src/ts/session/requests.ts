// What the server asks.
import { textOf } from "../base/thrown.js";
import type { Settings } from "../options/settings.js";

interface ServerRequest {
  id: string | number;
  method: string;
  params?: unknown;
}

interface Answer {
  result?: unknown;
  error?: { code: number; message: string };
}

/** Who takes the requests of the server's on one connection. */
export interface RequestTaker {
  /** One request; `rawId` is its id as the server wrote it. Called outside of exports; may call back in. */
  take(message: object, rawId?: string): void;
  /** Every message of the server's: a `notifications/cancelled` ends the request it names. */
  hear(message: object): void;
  /** The connection has ended: nothing is answered any more. */
  abortAll(): void;
}

/** Requests of the server's on one connection: each runs `onRequest` and gives one response, unless it was cancelled. */
export class ServerRequests implements RequestTaker {
  readonly #settings: Pick<Settings, "onRequest" | "log">;
  readonly #answer: (body: string) => void;
  readonly #running = new Map<string | number, AbortController>();

  constructor(settings: Pick<Settings, "onRequest" | "log">, answer: (body: string) => void) {
    this.#settings = settings;
    this.#answer = answer;
  }

  take(message: object, rawId?: string): void {
    const { id, method, params } = message as ServerRequest;
    const { onRequest } = this.#settings;
    const idText = rawId ?? JSON.stringify(id);
    if (onRequest === undefined) {
      this.#send(idText, { error: { code: -32601, message: "Method not found" } });
      return;
    }
    const controller = new AbortController();
    this.#running.set(id, controller);
    const request = { method, signal: controller.signal, ...(params === undefined ? {} : { params }) };
    Promise.resolve()
      .then(() => onRequest(request))
      .then(
        (result) => this.#finish(id, idText, controller, { result: result ?? {} }),
        (thrown) => {
          this.#settings.log.threw("onRequest", thrown);
          this.#finish(id, idText, controller, { error: { code: -32603, message: textOf(thrown) } });
        },
      );
  }

  hear(message: object): void {
    const { method, params } = message as { method?: unknown; params?: { requestId?: unknown } };
    if (method === "notifications/cancelled") this.#abort(params?.requestId as string | number);
  }

  abortAll(): void {
    for (const id of [...this.#running.keys()]) this.#abort(id);
  }

  #abort(id: string | number): void {
    const controller = this.#running.get(id);
    this.#running.delete(id);
    controller?.abort(new DOMException("the server or the session ended this request", "AbortError"));
  }

  #finish(id: string | number, idText: string, controller: AbortController, response: Answer): void {
    // What was cancelled is not answered.
    if (controller.signal.aborted) return;
    if (this.#running.get(id) === controller) this.#running.delete(id);
    this.#send(idText, response);
  }

  #send(idText: string, response: Answer): void {
    this.#answer(`{"jsonrpc":"2.0","id":${idText},${this.#write(response)}}`);
  }

  /** The member of a response that answers, as JSON; an error where the handler gave what JSON can't carry. */
  #write({ result, error }: Answer): string {
    if (error !== undefined) return `"error":${JSON.stringify(error)}`;
    try {
      const text: string | undefined = JSON.stringify(result);
      if (text === undefined) throw new TypeError(`it is a ${typeof result}`);
      return `"result":${text}`;
    } catch (thrown) {
      const message = `the result of onRequest can't be written as JSON: ${textOf(thrown)}`;
      this.#settings.log.write("error", message);
      return this.#write({ error: { code: -32603, message } });
    }
  }
}

// A server that asks more than this at once, under odd ids, gets these back as JavaScript has them.
const mostIds = 256;

/** Requests of the server's that a Client answers: they go to its handler, and the ids are kept as they were written. */
export class ClientRequests implements RequestTaker {
  readonly #deliver: (request: object) => void;
  readonly #ids = new Map<unknown, string>();

  constructor(deliver: (request: object) => void) {
    this.#deliver = deliver;
  }

  take(message: object, rawId?: string): void {
    const { id } = message as ServerRequest;
    if (rawId !== undefined && rawId !== JSON.stringify(id) && this.#ids.size < mostIds)
      this.#ids.set(id, rawId);
    this.#deliver(message);
  }

  /** The id of an answer, as the server wrote it. */
  rawId(id: unknown): string {
    const rawId = this.#ids.get(id) ?? JSON.stringify(id ?? null);
    this.#ids.delete(id);
    return rawId;
  }

  hear(message: object): void {
    const { method, params } = message as { method?: unknown; params?: { requestId?: unknown } };
    if (method === "notifications/cancelled") this.#ids.delete(params?.requestId);
  }

  abortAll(): void {
    this.#ids.clear();
  }
}
