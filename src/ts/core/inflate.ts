// The bytes of the module from what the inline entry holds.

interface Zlib {
  gunzipSync?(bytes: Uint8Array): Uint8Array<ArrayBuffer>;
}

/** The bytes of base64 text. */
export function decodeBase64(base64: string): Uint8Array<ArrayBuffer> {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i += 1) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Undoes gzip: by zlib where the runtime has it at hand, without an import that a bundler would follow. */
export async function gunzip(bytes: Uint8Array<ArrayBuffer>): Promise<BufferSource> {
  const fast = zlib()?.gunzipSync;
  if (fast !== undefined) return fast(bytes);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

function zlib(): Zlib | undefined {
  const { process } = globalThis as { process?: { getBuiltinModule?(id: string): unknown } };
  try {
    return process?.getBuiltinModule?.("node:zlib") as Zlib | undefined;
  } catch {
    return undefined;
  }
}
