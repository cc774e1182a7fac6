// From the bytes of the module, or where they are, to the module.
import type { ModuleSource } from "../api/options.js";
import { builtin } from "../base/runtime.js";

/** Compiles a module, while it streams in where it comes over the network. */
export async function compile(source: ModuleSource): Promise<WebAssembly.Module> {
  if (source instanceof URL) return compile(await globalThis.fetch(source));
  if (isResponse(source)) return compileResponse(source);
  if (isModule(source)) return source;
  return WebAssembly.compile(source as BufferSource);
}

async function compileResponse(response: Response): Promise<WebAssembly.Module> {
  if (!response.ok) throw new Error(`the module's URL answered ${response.status}: ${response.url}`);
  if (typeof WebAssembly.compileStreaming !== "function")
    return WebAssembly.compile(await response.arrayBuffer());
  const copy = response.clone();
  try {
    return await WebAssembly.compileStreaming(response);
  } catch (thrown) {
    // A server that does not know the media type of .wasm; bytes that are no module throw a CompileError.
    if (!(thrown instanceof TypeError)) throw thrown;
    return WebAssembly.compile(await copy.arrayBuffer());
  }
}

/** Told by its tag: test runners with realms of their own have more than one WebAssembly.Module. */
function isModule(source: object): source is WebAssembly.Module {
  return Object.prototype.toString.call(source) === "[object WebAssembly.Module]";
}

function isResponse(source: object): source is Response {
  return (
    typeof (source as Response).arrayBuffer === "function" && typeof (source as Response).clone === "function"
  );
}

// The bytes of the module from what the inline entry holds.

interface Zlib {
  gunzipSync?(bytes: Uint8Array): Uint8Array<ArrayBuffer>;
}

interface Base64 {
  fromBase64?(text: string): Uint8Array<ArrayBuffer>;
}

interface NodeBuffer {
  Buffer?: { from(text: string, encoding: "base64"): Uint8Array<ArrayBuffer> };
}

/** The bytes of base64 text: at once by what the runtime has for it, else one by one, ten times slower. */
export function decodeBase64(base64: string): Uint8Array<ArrayBuffer> {
  const given = Uint8Array as Base64;
  if (given.fromBase64 !== undefined) return given.fromBase64(base64);
  const { Buffer } = builtin<NodeBuffer>("node:buffer") ?? {};
  if (Buffer !== undefined) return Buffer.from(base64, "base64");
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i += 1) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Undoes gzip: by zlib where the runtime has it at hand, without an import that a bundler would follow. */
export async function gunzip(bytes: Uint8Array<ArrayBuffer>): Promise<BufferSource> {
  const fast = builtin<Zlib>("node:zlib")?.gunzipSync;
  if (fast !== undefined) return fast(bytes);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}
