// The instances of modules in this process. To be loaded before what makes them.

const made = [];
WebAssembly.Instance = new Proxy(WebAssembly.Instance, {
  construct(target, args) {
    const instance = Reflect.construct(target, args);
    made.push(new WeakRef(instance));
    return instance;
  },
});

const memoryOf = ({ exports }) => Object.values(exports).find((each) => each instanceof WebAssembly.Memory);

/** `{ wasm, instances }`: the bytes of memory of all that were made and are not yet collected, and how many those are. */
export function inInstances() {
  const live = made.map((ref) => ref.deref()).filter(Boolean);
  return {
    wasm: live.reduce((sum, each) => sum + memoryOf(each).buffer.byteLength, 0),
    instances: live.length,
  };
}
