// Firefox by its WebDriver, in the few commands that these tests need.
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { onPath } from "../../www/build/path.mjs";
import webdriver from "../browser/webdriver.json" with { type: "json" };

/** Where the driver is, if it and its browser are anywhere. */
export const GECKODRIVER = onPath("firefox") && onPath("geckodriver");

const firefox = webdriver["moz:firefoxOptions"];
const CAPABILITIES = {
  acceptInsecureCerts: true,
  "moz:firefoxOptions": { ...firefox, args: ["-headless"] },
};

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A script that runs the function in the page and tells its outcome. */
const evaluation = (fn) => `const [argument, tell] = arguments;
  Promise.resolve().then(() => (${fn})(argument)).then(
    (value) => tell({ value }),
    (error) => tell({ error: String(error) + "\\n" + error?.stack }),
  );`;

/** Starts Firefox: `{ goto(url), evaluate(fn, argument), close() }`, as a page of Playwright's has them. */
export async function launchFirefox() {
  if (!GECKODRIVER) throw new Error("firefox or geckodriver is not on the PATH");
  const port = await freePort();
  const driver = spawn(GECKODRIVER, ["--port", String(port), "--host", "127.0.0.1"], { stdio: "ignore" });
  const ask = async (method, path, body) => {
    const headers = { "content-type": "application/json" };
    const init = { method, headers, body: body && JSON.stringify(body) };
    const { value } = await (await fetch(`http://127.0.0.1:${port}${path}`, init)).json();
    if (value?.error) throw new Error(`${method} ${path}: ${value.error}: ${value.message}`);
    return value;
  };
  try {
    return await session(driver, ask);
  } catch (error) {
    driver.kill();
    throw error;
  }
}

async function session(driver, ask) {
  const isUp = () => ask("GET", "/status").catch(() => undefined);
  for (const end = Date.now() + 30_000; (await isUp()) === undefined; await sleep(50))
    if (Date.now() > end) throw new Error("geckodriver does not start");
  const { sessionId } = await ask("POST", "/session", { capabilities: { alwaysMatch: CAPABILITIES } });
  const path = `/session/${sessionId}`;
  await ask("POST", `${path}/timeouts`, { script: 120_000 });
  return {
    goto: (url) => ask("POST", `${path}/url`, { url }),
    async evaluate(fn, argument) {
      const body = { script: evaluation(fn), args: [argument ?? null] };
      const { value, error } = await ask("POST", `${path}/execute/async`, body);
      if (error !== undefined) throw new Error(error);
      return value;
    },
    async close() {
      await ask("DELETE", path);
      driver.kill();
    },
  };
}
