import { readSettings } from "./config.js";
import type { Instances } from "./instance.js";
import type { ConnectOptions } from "./options.js";
import { observed } from "./promise.js";
import { StandAloneSession } from "./session.js";
import type { Connect, Session } from "./types.js";

/** The `connect` of an entry point, whose instances these are. Nothing is loaded before the first call. */
export function connector(instances: Instances): Connect {
  return (url, options) => observed(open(instances, url, options));
}

async function open(instances: Instances, url: string | URL, options?: ConnectOptions): Promise<Session> {
  const session = new StandAloneSession(instances, readSettings(url, options));
  await session.start();
  return session;
}
