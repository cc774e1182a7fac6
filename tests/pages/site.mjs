// A site on 127.0.0.1 with the package that was built, and a blank page under whatever policy its address asks for.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";

const PACKAGE = new URL("../../target/npm/", import.meta.url);
const TYPES = { js: "text/javascript", wasm: "application/wasm" };
const BLANK = "<!doctype html><meta charset=utf-8><title>landfall</title>";

/** `{ page(policy?), asked, close() }`; `asked` are the names of the files that pages have fetched. */
export async function createSite() {
  const asked = [];
  const server = createServer((req, res) => {
    const url = new URL(req.url, "http://localhost");
    const [, name, type] = /^\/npm\/([\w-]+\.(js|wasm))$/.exec(url.pathname) ?? [];
    if (name) asked.push(name);
    const answer = name ? file(name, type) : page(url);
    answer.then(
      ({ headers, body }) => res.writeHead(200, headers).end(body),
      () => res.writeHead(404).end(),
    );
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${server.address().port}`;
  return {
    asked,
    page: (policy) => `${origin}/${policy === undefined ? "" : `?policy=${encodeURIComponent(policy)}`}`,
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

async function file(name, type) {
  return { headers: { "content-type": TYPES[type] }, body: await readFile(new URL(name, PACKAGE)) };
}

async function page({ pathname, searchParams }) {
  // A browser asks for an icon by itself.
  if (pathname !== "/") throw new Error(`nothing at ${pathname}`);
  const policy = searchParams.get("policy");
  const headers = { "content-type": "text/html" };
  return {
    headers: policy === null ? headers : { ...headers, "content-security-policy": policy },
    body: BLANK,
  };
}
