// Exchanges of a test's own: each request is a promise of the head, or of the failure, that is told of it.
import { Exchanges } from "../../../target/modules/http/exchanges.js";
import { readSettings } from "../../../target/modules/options/settings.js";

const address = "https://server.test/mcp";
const nothing = () => {};

/** Exchanges by these options, which tell `sink`; `ask` makes a request: its own members, and `of`, the call's headers. */
export function exchangesOf(options, sink = {}) {
  const waiting = new Map();
  const open = new Exchanges(readSettings(address, options), {
    ...{ sent: nothing, isReserved: () => false, learned: nothing, push: nothing, end: nothing },
    ...sink,
    head: (exchange, head) => waiting.get(exchange).resolve(head),
    fail(exchange, message, code) {
      sink.fail?.(exchange, message, code);
      waiting.get(exchange).reject(Object.assign(new Error(message), { code }));
    },
  });
  const ask = (exchange, { of, ...more } = {}) => {
    const told = new Promise((resolve, reject) => waiting.set(exchange, { resolve, reject }));
    // A body that fails later is told by the same.
    told.catch(nothing);
    const request = { method: "POST", manner: "guarded", headers: {}, call: undefined, body: undefined };
    open.open({ ...request, exchange, url: undefined, ...more }, address, () => of);
    return told;
  };
  return { open, ask };
}
