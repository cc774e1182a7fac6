// The published JavaScript, made from the modules of the wrapper: every entry, and the instances that entries share, as one
// minified file with its source map.
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { build } from "esbuild";

/** Whose state is one for all entries of a process: each is a file of its own, beside them. */
export const SHARED = ["entry/inline.js", "entry/imported.js"];
const isPacked = /\/wasm-inline\.js$/;
// Node shows the line that an uncaught error comes from: in one line that is the whole file.
const mostPerLine = 500;

/** What stays an import: peers, what the runtime has, the module as a file, and what is shared. */
const outside = {
  name: "outside",
  setup({ onResolve }) {
    onResolve({ filter: /./ }, ({ kind, path }) => {
      if (kind === "entry-point") return undefined;
      const isShared = SHARED.includes(`entry/${basename(path)}`) && path.startsWith("./");
      return isShared || path.endsWith(".wasm") || !path.startsWith(".")
        ? { path, external: true }
        : undefined;
    });
  },
};

/** The map as a package has it: its sources are not beside it, so they stand in it, under the paths of the repository. */
function published(map, name) {
  const { version, sources, sourcesContent, names, mappings } = JSON.parse(map);
  const paths = sources.map((source) =>
    source.replace(/^.*?(?=src\/ts\/|core\/core\.js$|entry\/wasm-inline\.js$)/, "../"),
  );
  // The module is no text that anybody reads.
  const texts = sourcesContent.map((text, n) => (isPacked.test(sources[n]) ? "" : text));
  return JSON.stringify({ version, file: name, sources: paths, sourcesContent: texts, names, mappings });
}

/**
 * Writes these files of `from`, bundled, to `to`, each with its map, after `banner`. Resolves with esbuild's account of what each
 * is made of.
 */
export async function bundle(names, from, to, banner) {
  const { outputFiles, metafile } = await build({
    ...{ entryPoints: names.map((name) => join(from, name)), outdir: to, outbase: from, write: false },
    ...{ bundle: true, minify: true, format: "esm", target: "es2022", platform: "neutral", sourcemap: true },
    ...{
      plugins: [outside],
      metafile: true,
      absWorkingDir: from,
      lineLimit: mostPerLine,
      banner: { js: banner },
      logLevel: "warning",
    },
  });
  for (const { path, text } of outputFiles) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, path.endsWith(".map") ? published(text, basename(path, ".map")) : text);
  }
  return metafile;
}
