// Compiles only while results, tools and the requests of the protocol have their types: no cast is needed.
import {
  type CallEvent,
  type CallToolResult,
  type connect,
  type FailureReason,
  type Tool,
  type ToolCall,
  ToolCallFailedError,
  type WarningCode,
} from "../../../target/npm/entry/index.js";

type Session = Awaited<ReturnType<typeof connect>>;

/** What the README shows. */
export async function shown(session: Session): Promise<string[]> {
  const tools: Tool[] = await session.listTools();
  const [tool] = tools;
  const hints = tool?.annotations?.readOnlyHint === true || tool?.inputSchema.required?.includes("n");
  const { content, isError } = await session.callTool("work", { n: 1 });
  const texts = content.map((block) => (block.type === "text" ? block.text : block.type));
  return isError || hints ? [] : [...texts, tool?.description ?? "", session.instructions ?? ""];
}

interface Sum {
  total: number;
}

/** A task that is taken up has the result of a call. */
export async function takenUp(session: Session, taskId: string): Promise<number | undefined> {
  const { structuredContent } = await session.task<Sum>(taskId, { timeouts: { deadlineMs: 5_000 } });
  // @ts-expect-error: what concerns a stream says nothing of a task
  session.task(taskId, { onGap: "fail" });
  return structuredContent?.total;
}

export async function structured(session: Session): Promise<number | undefined> {
  const call: ToolCall<CallToolResult<Sum>> = session.callTool<Sum>("sum", { of: [1, 2] });
  for await (const event of call) {
    if (event.type === "result" && "result" in event) return event.result.structuredContent?.total;
  }
  const { structuredContent } = await call;
  // @ts-expect-error It has no such member.
  structuredContent?.count;
  const untyped = (await session.callTool("sum")).structuredContent?.total;
  // @ts-expect-error Nobody said what it is.
  untyped?.toFixed();
  const promise: Promise<CallToolResult<Sum>> = call;
  return (await promise.finally(() => {})).structuredContent?.total;
}

export async function requests(session: Session): Promise<(string | undefined)[]> {
  await session.request("ping");
  const { resources, nextCursor } = await session.request("resources/list", {}, { idempotent: true });
  const { contents } = await session.request("resources/read", { uri: resources[0]?.uri ?? "" });
  const { resourceTemplates } = await session.request("resources/templates/list", {
    cursor: nextCursor ?? "",
  });
  const { messages } = await session.request("prompts/get", { name: "p", arguments: { a: "b" } });
  const { prompts } = await session.request("prompts/list");
  const { completion } = await session.request("completion/complete", {
    ref: { type: "ref/prompt", name: "p" },
    argument: { name: "a", value: "b" },
  });
  await session.request("logging/setLevel", { level: "warning" });
  // @ts-expect-error No such level.
  session.request("logging/setLevel", { level: "loud" });
  // @ts-expect-error A resource has a name.
  session.request("resources/read", {});
  // @ts-expect-error And it is needed.
  session.request("resources/read");
  const other = await session.request("x/y", { any: 1 });
  // @ts-expect-error Nobody said what it is.
  other.any;
  const { any } = await session.request<{ any: string }>("x/y", { any: 1 });
  const [first] = messages;
  const said = first?.content.type === "text" ? first.content.text : first?.role;
  return [
    ...[contents[0]?.text, resourceTemplates[0]?.uriTemplate, prompts[0]?.title],
    ...[said, completion.values[0], any, session.serverInfo?.title],
    ...[session.capabilities.resources?.subscribe === true ? "subscribe" : undefined],
  ];
}

export function told(event: CallEvent, error: unknown): FailureReason | WarningCode | undefined {
  if (event.type === "warning") return event.code;
  // @ts-expect-error There is no such code.
  if (event.type === "warning" && event.code === "nothing") return undefined;
  return error instanceof ToolCallFailedError ? error.reason : undefined;
}
