// What every page here does.
import { carry } from "./call.mjs";

/** What is the same in every page: the address and the key are in its query, the outcome is a global. */
export async function show(connect) {
  const query = new URLSearchParams(location.search);
  try {
    globalThis.outcome = await carry(connect, query.get("url"), query.get("key"));
  } catch (error) {
    globalThis.outcome = { error: String(error?.stack ?? error) };
  }
}
