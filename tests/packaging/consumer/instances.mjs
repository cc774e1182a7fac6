// Imported before landfall: `instances` lists every instance of a module that is made from here on.
globalThis.instances = [];
WebAssembly.Instance = new Proxy(WebAssembly.Instance, {
  construct(target, args) {
    const made = Reflect.construct(target, args);
    globalThis.instances.push(made);
    return made;
  },
});
