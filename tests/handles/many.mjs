// What is done many times, in Node and in a page.

/** Calls one after the other. */
export async function inTurn(session, count) {
  for (let n = 0; n < count; n += 1) await session.callTool("scripted", { key: "in turn" }).result;
}

/** Calls whose stream has opened, and that nobody wants any more. */
export async function dropped(session, count) {
  const args = { key: "dropped", steps: [{ message: "open" }, { wait: 60_000 }] };
  for (let n = 0; n < count; n += 1) {
    const stop = new AbortController();
    const call = session.callTool("scripted", args, { signal: stop.signal });
    for await (const { type } of call) if (type === "message") break;
    stop.abort();
  }
}

/** Sessions that are open at the same time; each makes a call. */
export async function sideBySide(connect, url, count) {
  const sessions = await Promise.all(Array.from({ length: count }, () => connect(url, { era: "resumable" })));
  await Promise.all(sessions.map((session) => inTurn(session, 1)));
  await Promise.all(sessions.map((session) => session.close()));
}
