// The file itself: `landfall/landfall.wasm` for TypeScript, and what workerd makes of an import of it.
declare const module: object; // A WebAssembly.Module, which only the types of the DOM know.
export default module;
