// A site on 127.0.0.1 with the package that was built, the scripts of site/, and a page that runs one of them. Whatever is asked for
// comes under the Content-Security-Policy that its address wants.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { basename, extname } from "node:path";

const FOLDERS = {
  npm: new URL("../../target/npm/", import.meta.url),
  site: new URL("site/", import.meta.url),
};
const FILES = {
  "/site/call.mjs": new URL("../packaging/consumer/call.mjs", import.meta.url),
  "/site/many.mjs": new URL("../handles/many.mjs", import.meta.url),
};
const TYPES = { ".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm" };
const PAGE = `<!doctype html><meta charset=utf-8><title>landfall</title>
<script type=module src=/site/page.mjs></script>`;
const ISOLATED = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-embedder-policy": "require-corp",
};

/** `{ page(policy?), isolated(), asked, close() }`; `asked` are the names of the files that pages have fetched. */
export async function createSite() {
  const asked = [];
  const server = createServer(siteHandler(asked));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${server.address().port}`;
  return {
    asked,
    page: (policy) => `${origin}/${policy === undefined ? "" : `?${new URLSearchParams({ policy })}`}`,
    isolated: () => `${origin}/?isolated`,
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Answers what is asked of the site. */
export function siteHandler(asked = []) {
  return (req, res) => {
    const url = new URL(req.url, "http://localhost");
    answer(url, asked).then(
      ({ type, body }) => res.writeHead(200, { "content-type": type, ...policies(url) }).end(body),
      () => res.writeHead(404).end(),
    );
  };
}

function policies({ searchParams }) {
  const policy = searchParams.get("policy");
  if (searchParams.has("isolated")) return ISOLATED;
  return policy === null ? {} : { "content-security-policy": policy };
}

async function answer({ pathname }, asked) {
  if (pathname === "/") return { type: "text/html", body: PAGE };
  const [, folder, name] = /^\/(npm|site)\/((?:[\w-]+\/)?[\w-]+\.(?:m?js|wasm))$/.exec(pathname) ?? [];
  // A browser asks for an icon by itself.
  if (!name) throw new Error(`nothing at ${pathname}`);
  if (folder === "npm") asked.push(basename(name));
  const body = await readFile(FILES[pathname] ?? new URL(name, FOLDERS[folder]));
  return { type: TYPES[extname(name)], body };
}
