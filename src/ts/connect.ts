import { readSettings } from "./config.js";
import type { CreateCore } from "./driver.js";
import { Instances, type LoadModule } from "./instance.js";
import { observed } from "./promise.js";
import { StandAloneSession } from "./session.js";
import type { Connect, ConnectOptions, Session } from "./types.js";

/** The `connect` of an entry point, from its way to the module. Nothing is loaded before the first call. */
export function connector(load: LoadModule, create: CreateCore): Connect {
  const instances = new Instances(load, create);
  return (url, options) => observed(open(instances, url, options));
}

async function open(instances: Instances, url: string | URL, options?: ConnectOptions): Promise<Session> {
  const session = new StandAloneSession(instances, readSettings(url, options));
  await session.start();
  return session;
}
