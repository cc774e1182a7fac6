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

const open = { message: "open" };
const cut = [open, { wait: 5 }, { cut: "rst" }];

/** How a call may go wrong: what the tool does, the options of the call, and whether it is answered all the same. */
export const troubles = {
  cut: { steps: [{ noIds: true }, ...cut] },
  refused: { post: { status: 500 } },
  stalled: { steps: [open, { stall: 60_000 }], options: { timeouts: { deadlineMs: 200 } } },
  reissued: {
    post: { cutBeforeHeaders: "rst", times: 1 },
    options: { idempotent: true },
    isAnswered: true,
  },
  resumed: { steps: cut, isAnswered: true },
};

let keys = 0;

/** Calls that meet one of these, some at a time. */
export async function troubled(session, { options, isAnswered = false, ...script }, count) {
  const sideBySide = 25;
  for (let n = 0; n < count; n += sideBySide) {
    const calls = Array.from({ length: sideBySide }, () => {
      keys += 1;
      return session.callTool("scripted", { key: `troubled ${keys}`, ...script }, options);
    });
    const ended = await Promise.allSettled(calls.map(({ result }) => result));
    const other = ended.find(({ status }) => (status === "fulfilled") !== isAnswered);
    if (other !== undefined) throw new Error("a call did not end as it should", { cause: other.reason });
  }
}
