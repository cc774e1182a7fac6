// A Client of an SDK in the place of a session.

/** What {@link carry} does, by the Client of an SDK over a transport in place of its own: a `connect` for it. */
export function connectBy(Client, LandfallTransport) {
  return async (url) => {
    const transport = new LandfallTransport(url);
    const client = new Client({ name: "consumer", version: "1.0.0" });
    await client.connect(transport);
    return {
      callTool: (name, args) => callOf(transport, client.callTool({ name, arguments: args })),
      close: () => client.close(),
    };
  };
}

/** The events of the only call there is, and its result. */
function callOf(transport, result) {
  const events = [];
  transport.onevent = (event) => {
    if ("requestId" in event) events.push(event);
  };
  return {
    result,
    async *[Symbol.asyncIterator]() {
      await result;
      yield* events;
    },
  };
}
