// The options of a transport: those of the official classes, too.
import { ConfigError } from "../api/errors.js";
import type { ConnectOptions, FetchLike, TransportOptions } from "../api/options.js";
import type { ReadProvider } from "../http/credentials.js";
import { meant } from "./check.js";
import { readSettings, type Settings, sharedOptions } from "./settings.js";

const ours = new Set<string>(sharedOptions);
const own = new Set(["onevent", "onevents", "sessionId", "protocolVersion"]);
// Decided, and landfall's own: who gives one of these relies on it.
const later = new Set(["store", "storeKey"]);

/** What the SDK of a Client makes of these options. */
interface OfSdk {
  readProvider: ReadProvider;
  signing?(provider: unknown, fetch: FetchLike): FetchLike | undefined;
}

/**
 * The options of a transport as settings. What another version of an official transport knows and this one does not is
 * ignored, with a warning. Throws {@link ConfigError} for what is wrong with an option of landfall's own.
 */
export function readTransportSettings(url: string | URL, given: TransportOptions, sdk: OfSdk): Settings {
  const options: Record<string, unknown> = {};
  const ignored: string[] = [];
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null || own.has(name)) continue;
    if (later.has(name))
      throw new ConfigError(name, `${name} is not an option that this version of landfall honours here`);
    if (ours.has(name)) options[name] = value;
    else ignored.push(name);
  }
  if (options.requestInit !== undefined) options.requestInit = withoutOwn(options.requestInit as RequestInit);
  // The official transports leave it to the application: many go on with its `sessionId` later.
  const { listen = "auto", terminateSessionOnClose = false, tasks = false } = given;
  Object.assign(options, { listen: listen === "auto" ? true : listen, terminateSessionOnClose, tasks });
  const settings = readSettings(url, options as ConnectOptions, sdk.readProvider);
  const names = [...sharedOptions, ...own];
  for (const name of ignored)
    settings.log.write("warn", `the option ${name} is not known, and is ignored${meant(name, names)}`);
  const { authProvider, fetch } = options as ConnectOptions;
  const signing = sdk.signing?.(authProvider, fetch ?? ((input, init) => globalThis.fetch(input, init)));
  return {
    ...settings,
    ...(signing === undefined ? {} : { fetch: signing }),
    core: () => ({ ...settings.core(), carry: true }),
  };
}

/** The official transports set these themselves, whatever is given. */
function withoutOwn(requestInit: RequestInit): RequestInit {
  const { method: _method, body: _body, signal: _signal, headers, ...init } = requestInit;
  return headers ? { ...init, headers } : init;
}
