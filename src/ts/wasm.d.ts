// workerd compiles an imported module beforehand.
declare module "*.wasm" {
  const module: WebAssembly.Module;
  export default module;
}
