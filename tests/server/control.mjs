// What a test asks the server about itself; over HTTP, because a test in a browser has no other way.

/**
 * GET /control/executions?key=K   { executions }
 * GET /control/log?key=K          { log: [{ at, method, rpc, key, lastEventId, session, status, ... }] }
 * POST /control/reset             forgets sessions, counts and log
 */
export function control(server, exchange, url) {
  const key = url.searchParams.get("key");
  const asked = `${exchange.req.method} ${url.pathname}`;
  switch (asked) {
    case "GET /control/executions":
      return exchange.json(200, { executions: server.executions(key) });
    case "GET /control/log":
      return exchange.json(200, {
        log: key === null ? server.log : server.log.filter((entry) => entry.key === key),
      });
    case "POST /control/reset":
      server.reset();
      return exchange.answer(204);
    default:
      return exchange.json(404, { error: `Unknown: ${asked}` });
  }
}
