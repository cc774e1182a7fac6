// The relay on one machine: `make relay UPSTREAM=http://127.0.0.1:8000/mcp`. See README.md.
import * as landfall from "landfall";
import access from "./access.mjs";
import { serve } from "./node/server.mjs";
import { readSettings, SetupError } from "./relay/settings.mjs";

const LOCAL_HOSTS = "127.0.0.1, localhost, [::1]";
const LOCAL_PAGES = "http://localhost:*, http://127.0.0.1:*";

async function main() {
  const { env } = process;
  const local = { ...env, HOSTS: env.HOSTS ?? LOCAL_HOSTS, ORIGINS: env.ORIGINS ?? LOCAL_PAGES };
  const settings = readSettings(local, { hasAccess: access !== undefined });
  const { url } = await serve({ settings, landfall, access, folder: env.DATA, port: Number(env.PORT ?? 0) });
  console.log(`${url}  relays to ${settings.upstream}`);
}

main().catch((thrown) => {
  console.error(thrown instanceof SetupError || thrown.code ? thrown.message : thrown);
  process.exitCode = 1;
});
