// What each session leaves to the process that it is in.
import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { test } from "node:test";
import { landfall, stage, until } from "../stage.mjs";

test("sessions that listen share one storage, which is enabled only while a request of theirs is sent", async (t) => {
  const { run, disable } = AsyncLocalStorage.prototype;
  const enabled = new Map();
  AsyncLocalStorage.prototype.run = function (...args) {
    if (args[0] === true) enabled.set(this, true);
    return run.apply(this, args);
  };
  AsyncLocalStorage.prototype.disable = function () {
    if (enabled.has(this)) enabled.set(this, false);
    return disable.call(this);
  };
  t.after(() => Object.assign(AsyncLocalStorage.prototype, { run, disable }));
  const at = await stage();
  t.after(() => at.close());
  const open = () => landfall.connect(at.url, { listen: true });
  const sessions = await Promise.all([open(), open(), open()]);
  await until(() => at.upstream.log.filter(({ method }) => method === "GET").length >= 3, "the GETs");
  await until(() => [...enabled.values()].every((isOn) => !isOn), "the end of the sending");
  assert.equal(enabled.size, 1);
  await Promise.all(sessions.map((session) => session.close()));
});
