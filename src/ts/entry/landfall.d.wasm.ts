// The file itself: `landfall/landfall.wasm` for TypeScript, and what workerd makes of an import of it.
declare const module: WebAssembly.Module;
export default module;
