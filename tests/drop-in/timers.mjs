// Imported before landfall, which takes the runtime's timers and clock as they are then: it gets what a test puts in
// their place later.
const { performance } = globalThis;

/** In place of a function: the one that stands there by the time it is called. */
function follow(owner, name) {
  const real = owner[name];
  const following = (...given) => (owner[name] === following ? real : owner[name]).apply(owner, given);
  owner[name] = following;
}

for (const name of ["setTimeout", "clearTimeout", "queueMicrotask", "setImmediate"]) follow(globalThis, name);
follow(performance, "now");
