// The one call that every consumer makes.

/** A tool call that is cut after its first message, and what came of it: what every program and page here does. */
export async function carry(connect, url, key) {
  const session = await connect(url, { era: "resumable" });
  // What has not been read when the connection dies is lost: the answer tells the server that it was.
  const before = [{ retry: 20 }, { message: "one" }, { ask: { method: "ping" } }, { cut: "rst" }];
  const steps = [...before, { awaitResume: true }, { message: "two" }];
  const call = session.callTool("scripted", { key, steps });
  const events = [];
  for await (const event of call)
    events.push(event.type === "message" ? event.message.params.data : event.type);
  const { structuredContent } = await call.result;
  await session.close();
  return { events, execution: structuredContent.execution };
}
