// What the server asks.
import { ServerError } from "../api/errors.js";
import { textOf } from "../base/thrown.js";
import type { Settings } from "../options/settings.js";

interface ServerRequest {
  id: string | number;
  method: string;
  params?: unknown;
}

interface Answer {
  result?: unknown;
  error?: { code: number; message: string; data?: unknown };
}

// A server may make up as many as it likes.
const mostMethods = 16;

/** Who takes the requests of the server's on one connection. */
export interface RequestTaker {
  /** One request, and the id of the call that it came in. Called outside of exports; may call back in. */
  take(message: object, requestId?: string | number): void;
  /** The server has given up the request of this id. */
  cancelled(id: string | number): void;
  /** What the request of this id was asked in has ended: nobody waits for its answer. */
  over(id: string | number): void;
  /** The connection has ended: nothing is answered any more. */
  abortAll(): void;
}

/** Requests of the server's on one connection: each runs `onRequest` and gives one response, unless it was cancelled. */
export class ServerRequests implements RequestTaker {
  readonly #settings: Pick<Settings, "onRequest" | "log" | "serverText">;
  readonly #answer: (body: string) => void;
  readonly #refused: (message: string) => void;
  readonly #toldMethods = new Set<string>();
  readonly #running = new Map<string | number, AbortController>();

  /** `refused` is told of each method that there is no handler for, once. */
  constructor(
    settings: Pick<Settings, "onRequest" | "log" | "serverText">,
    answer: (body: string) => void,
    refused: (message: string) => void,
  ) {
    this.#settings = settings;
    this.#answer = answer;
    this.#refused = refused;
  }

  take(message: object, requestId?: string | number): void {
    const { id, method, params } = message as ServerRequest;
    const { onRequest } = this.#settings;
    if (onRequest === undefined) {
      this.#send(id, { error: { code: -32601, message: "Method not found" } });
      this.#tellRefused(method);
      return;
    }
    const controller = new AbortController();
    this.#running.set(id, controller);
    const request = {
      ...{ method, signal: controller.signal },
      ...(params === undefined ? {} : { params }),
      ...(requestId === undefined ? {} : { requestId }),
    };
    Promise.resolve()
      .then(() => onRequest(request))
      .then(
        (result) => this.#finish(id, controller, { result: result ?? {} }),
        (thrown) => {
          // It is meant for the server, in words of the protocol.
          if (thrown instanceof ServerError) {
            this.#finish(id, controller, { error: errorOf(thrown) });
            return;
          }
          this.#settings.log.threw("onRequest", thrown);
          this.#finish(id, controller, { error: { code: -32603, message: "handler failed" } });
        },
      );
  }

  #tellRefused(method: string): void {
    const shown = this.#settings.serverText.fit(String(method));
    if (this.#toldMethods.has(shown) || this.#toldMethods.size >= mostMethods) return;
    this.#toldMethods.add(shown);
    this.#refused(
      `the server asked for ${shown}, and was refused: there is no option onRequest to answer it`,
    );
  }

  cancelled(id: string | number): void {
    this.#abort(id);
  }

  over(id: string | number): void {
    this.#abort(id);
  }

  abortAll(): void {
    for (const id of [...this.#running.keys()]) this.#abort(id);
  }

  #abort(id: string | number): void {
    const controller = this.#running.get(id);
    this.#running.delete(id);
    controller?.abort(
      new DOMException("the server, the call or the session ended this request", "AbortError"),
    );
  }

  #finish(id: string | number, controller: AbortController, response: Answer): void {
    // What was cancelled is not answered.
    if (controller.signal.aborted) return;
    if (this.#running.get(id) === controller) this.#running.delete(id);
    this.#send(id, response);
  }

  #send(id: string | number, response: Answer): void {
    this.#answer(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},${this.#write(response)}}`);
  }

  /** The member of a response that answers, as JSON; an error where the handler gave what JSON can't carry. */
  #write({ result, error }: Answer): string {
    const [name, value] = error === undefined ? ["result", result] : ["error", error];
    try {
      const text: string | undefined = JSON.stringify(value);
      if (text === undefined) throw new TypeError(`it is a ${typeof value}`);
      return `"${name}":${text}`;
    } catch (thrown) {
      this.#settings.log.write(
        "error",
        `the ${name} of onRequest can't be written as JSON: ${textOf(thrown)}`,
      );
      return this.#write({ error: { code: -32603, message: "handler failed" } });
    }
  }
}

function errorOf({ code, message, data }: ServerError): NonNullable<Answer["error"]> {
  return { code, message, ...(data === undefined ? {} : { data }) };
}
