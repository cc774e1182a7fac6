// What the server asks of the client, and who answers.
const NOBODY = { code: -32000, message: "nobody answers: the client has gone" };

/** The questions of a session that wait for an answer, under ids that are never used again. */
export class Questions {
  #open = new Map();
  #prefix = crypto.randomUUID().slice(0, 8);
  #count = 0;
  // Those of an earlier life that are expected again, and answers that came before them.
  #expected = new Map();

  /** A question that was open in an earlier life of the session: its answer may come before it is asked again. */
  expect(id) {
    this.#expected.set(id, undefined);
  }

  /** An id that was never used. */
  fresh() {
    this.#count += 1;
    return `ask-${this.#prefix}-${this.#count}`;
  }

  /**
   * Asks on a stream under an id, by `tell(message)`, unless that was done before, and gives `{ result }` or `{ error }`. Where the server gives the question up, so
   * that nobody waits for the answer, the client is told.
   */
  ask({ id, method, params, signal, isAgain }, stream, tell) {
    const early = this.#expected.get(id);
    this.#expected.delete(id);
    if (early !== undefined) return Promise.resolve(early);
    return new Promise((resolve) => {
      const answer = (given) => {
        if (this.#open.delete(id)) resolve(given);
      };
      this.#open.set(id, { answer, stream });
      const giveUp = () => {
        if (!this.#open.has(id)) return;
        answer({ error: NOBODY });
        tell({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
      };
      signal.addEventListener("abort", giveUp, { once: true });
      if (!isAgain) tell({ jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) });
    });
  }

  /** A response of the client's. One to what is not asked any more says nothing. */
  answer({ id, result, error }) {
    const given = error === undefined ? { result } : { error: plain(error) };
    if (this.#expected.has(id)) this.#expected.set(id, given);
    else this.#open.get(id)?.answer(given);
  }

  /** Streams on which somebody is asked. */
  get streams() {
    return [...this.#open.values()].map(({ stream }) => stream);
  }

  /** Whoever was asked on this stream has gone for good. */
  expire(stream) {
    for (const each of [...this.#open.values()]) if (each.stream === stream) each.answer({ error: NOBODY });
  }
}

function plain({ code, message, data }) {
  return {
    code: Number.isSafeInteger(code) ? code : -32603,
    message: typeof message === "string" ? message : "the client answered with an error",
    ...(data === undefined ? {} : { data }),
  };
}
