// The `connect` of an entry.
import type { ConnectOptions } from "../api/options.js";
import type { Connect, Session } from "../api/session.js";
import { observed } from "../base/promise.js";
import type { Instances } from "../core/instance.js";
import { readSettings } from "../options/settings.js";
import { StandAloneSession } from "../session/stand-alone.js";

/** The `connect` of an entry point, whose instances these are. Nothing is loaded before the first call. */
export function connector(instances: Instances): Connect {
  return (url, options) => observed(open(instances, url, options));
}

async function open(instances: Instances, url: string | URL, options?: ConnectOptions): Promise<Session> {
  const session = new StandAloneSession(instances, readSettings(url, options));
  await session.start();
  return session;
}
