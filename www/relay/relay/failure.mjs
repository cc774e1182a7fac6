// A call that ended without an answer, in words of JSON-RPC. Landfall's client knows them (its option `relay`).
import { errorText, responseText } from "./messages.mjs";

const MEMBER = "io.landfall/failure";
const INTERNAL_ERROR = -32603;

const MEASURES = ["lastStatus", "bytes", "events", "duplicates", "gaps"];
const OF_ATTEMPTS = ["level", "at", "waitMs", "result", "status", "events"];

/** The error that tells of a failure of landfall's: the event `tool_call_failed`. */
export function failureError({ reason, outcome, message, diagnostics }) {
  // A request that never left the relay was refused by what the client called.
  const known = outcome === "not_sent" ? "rejected" : outcome;
  const told = { reason, outcome: known, diagnostics: diagnosticsOf(diagnostics) };
  return { code: INTERNAL_ERROR, message: withoutPlace(message), data: { [MEMBER]: told } };
}

/** The error for a call that the relay itself could not carry on. */
export const ownFailure = (reason, message) =>
  failureError({ reason, outcome: "unknown", message, diagnostics: {} });

/** The server could not be reached, or refused: there is no session. */
export function unreachable(id, thrown) {
  const {
    event = { reason: "internal_error", outcome: "unknown", message: "the relay failed", diagnostics: {} },
  } = thrown;
  const { code, message, data } = failureError(event);
  return Response.json({ jsonrpc: "2.0", id, error: { code, message, data } }, { status: 502 });
}

/** An error of the server's, which must not pass for one of the relay's. */
export function serverError(error) {
  const { data } = error;
  if (typeof data !== "object" || data === null || !(MEMBER in data)) return error;
  const { [MEMBER]: _forged, ...rest } = data;
  return { ...error, data: rest };
}

function diagnosticsOf(diagnostics = {}) {
  const known = pick(diagnostics, MEASURES);
  const attempts = (diagnostics.attempts ?? []).slice(-16).map((each) => pick(each, OF_ATTEMPTS));
  return { ...known, attempts };
}

function pick(from, names) {
  return Object.fromEntries(
    names.filter((name) => from[name] !== undefined).map((name) => [name, from[name]]),
  );
}

/** Where the server is, is the relay's business. */
function withoutPlace(message) {
  return message.replace(/ at https?:\/\/\S+ failed/, " failed");
}

/** The answer to a repeat of a call of which only its key is left. */
export function goneAnswer(id, headers) {
  const error = ownFailure(
    "interrupted",
    "this call was made before, and what came of it is not kept any more",
  );
  const text = responseText(id, errorText(error));
  return new Response(text, { headers: { ...headers, "content-type": "application/json" } });
}
