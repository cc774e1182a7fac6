// The tools of the servers here, for both generations of the TypeScript SDK.
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { note } from "./journal.mjs";

const text = (value) => ({ content: [{ type: "text", text: String(value) }] });
const key = z.string();
const steps = { steps: z.number(), interval_ms: z.number(), key };

/** What a handler is given, by one name in both generations. */
const contextOf = (extra) => extra.mcpReq ?? { ...extra, notify: extra.sendNotification };

async function count({ steps, interval_ms, key }, extra) {
  const { notify, _meta } = contextOf(extra);
  note("ran", key);
  for (let step = 1; step <= steps; step += 1) {
    await sleep(interval_ms / 2);
    await notify({
      method: "notifications/progress",
      params: { progressToken: _meta.progressToken, progress: step, total: steps },
    });
    // The SDK's example store has no order for what it is given within one millisecond.
    await sleep(interval_ms / 2);
    await notify({
      method: "notifications/message",
      params: { level: "info", data: `${key}: step ${step}` },
    });
  }
  await sleep(interval_ms / 2);
  return text(`${steps} steps`);
}

async function rest({ key }, extra) {
  const { notify, _meta, signal } = contextOf(extra);
  note("ran", key);
  await notify({
    method: "notifications/progress",
    params: { progressToken: _meta.progressToken, progress: 1 },
  });
  try {
    await sleep(60_000, undefined, { signal });
  } catch (error) {
    note("cancelled", key);
    throw error;
  }
  return text("rested");
}

/**
 * `count` does something, `recite` only reads; `rest` takes a minute; `grow` brings a new tool. Where each request has a
 * server of its own, `grown` has the names that came, and `onGrown` tells who listens.
 */
export function addTools(server, { grown = new Set(), onGrown = () => {} } = {}) {
  const leaf = (name) => server.registerTool(name, {}, () => text(name));
  server.registerTool("count", { inputSchema: z.object(steps) }, count);
  server.registerTool("recite", { inputSchema: z.object(steps), annotations: { readOnlyHint: true } }, count);
  server.registerTool("rest", { inputSchema: z.object({ key }) }, rest);
  server.registerTool("grow", { inputSchema: z.object({ name: z.string() }) }, ({ name }) => {
    grown.add(name);
    leaf(name);
    onGrown();
    return text(name);
  });
  for (const name of grown) leaf(name);
  return server;
}
