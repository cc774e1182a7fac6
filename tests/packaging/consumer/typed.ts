// A user of every type that has a name; it is compiled and never run.
import {
  type CallEvent,
  ConfigError,
  type ConnectOptions,
  type connect,
  type FailureReason,
  LandfallTransport,
  type Metrics,
  ServerError,
  type Session,
  type ToolCall,
  ToolCallFailedError,
} from "landfall";
import module from "landfall/landfall.wasm";
import { initializeWasm } from "landfall/slim";
import { connect as connectByFile } from "landfall/url";

const options: ConnectOptions = {
  era: "resumable",
  timeouts: { idleMs: 30_000, callMs: (tool: string) => (tool === "slow" ? 600_000 : 60_000) },
  replay: { lookup: true },
  onEvent: (event) => console.log(event.type),
};

export async function use(url: URL): Promise<FailureReason | undefined> {
  await initializeWasm(module);
  const same: typeof connect = connectByFile;
  const session: Session = await same(url, options);
  const call: ToolCall = session.callTool("lookup", { key: 1 }, { idempotent: true });
  for await (const event of call) show(event);
  try {
    await call.result;
    return undefined;
  } catch (error) {
    if (error instanceof ToolCallFailedError) return error.retrySafe ? error.reason : error.event.reason;
    if (error instanceof ServerError) console.log(error.code + 1);
    if (error instanceof ConfigError) console.log(error.option.length);
    throw error;
  } finally {
    const { histograms }: Metrics = session.metrics();
    console.log(histograms.callMs.p99);
    await session.close();
  }
}

function show(event: CallEvent): void {
  if (event.type === "progress") console.log(event.progress + (event.total ?? 0));
  else if (event.type === "reconnecting") console.log(event.level, event.waitMs);
  // @ts-expect-error There is no such event: were all of it `any`, this would be no error.
  else if (event.type === "nothing") console.log(event);
}

export const transport: { start: () => Promise<void>; sessionId: string | undefined } = new LandfallTransport(
  "https://a.test/mcp",
);
