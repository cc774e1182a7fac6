// What is not done, and how that is said.

/** Thrown where a request is refused: an HTTP status, and an error of JSON-RPC. */
export class Refusal extends Error {
  constructor(status, code, message, headers = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
  }

  /** The response that says it; `id` is that of the request, where it has one. */
  response(id = null) {
    const body = { jsonrpc: "2.0", id, error: { code: this.code, message: this.message } };
    return Response.json(body, { status: this.status, headers: this.headers });
  }
}

export const unknownSession = () => new Refusal(404, -32001, "Session not found");
export const busy = (what, seconds) =>
  new Refusal(429, -32000, `too many ${what}: try again later`, { "retry-after": String(seconds) });
