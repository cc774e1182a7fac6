// Imported by a test whose timers or clock are to drive landfall, which else has those of the runtime.
import { timers } from "../../../target/modules/base/timers.js";

for (const name of ["setTimeout", "clearTimeout", "queueMicrotask", "setImmediate", "MessageChannel"])
  Object.defineProperty(timers, name, { get: () => globalThis[name] });
Object.defineProperty(timers, "now", { get: () => performance.now.bind(performance) });
