// close.process.mjs URL: answers, loses and closes a call, tells when, and has nothing more to do.
import { sdkV1 } from "./clients/sdk-v1.mjs";
import { createTransport } from "./transports.mjs";
import { until } from "./until.mjs";

let resumes = 0;
const fetch = (url, init) => {
  if (new Headers(init.headers).has("last-event-id")) resumes += 1;
  return globalThis.fetch(url, init);
};
const session = await sdkV1.open(createTransport(sdkV1, process.argv[2], { fetch }));
await session.call("scripted", { key: "answered", steps: [] });
const refuse = { refuseResume: { status: 503, times: 1_000 } };
const steps = [{ prime: true }, { wait: 50 }, refuse, { cut: "rst" }, { wait: 60_000 }];
const call = session.call("scripted", { key: "lost", steps }, { timeout: 60_000 }).catch(() => {});
await until(() => resumes > 0);
await session.close();
await call;
console.log(Date.now());
